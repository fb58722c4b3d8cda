/* What clients do: produce, consume, carry out later what was put off, drain. */
#include "roles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "books.h"
#include "conn.h"
#include "heap.h"
#include "history.h"

#define ID_LEN 40
#define TAKE_MOST 100
#define MAXLEN 20
#define MS 1000
#define ARGS_MOST 64

struct producer {
    unsigned depth;
    int64_t next; /* when the next job is due */
};

struct consumer {
    char done[TAKE_MOST][ID_LEN + 1]; /* to be acknowledged next */
    int done_count;
    int64_t dies_at;
};

/* Something to be done with a job later, by whichever hand is free. */
struct chore {
    struct heap_item due;
    char verb;
    bool then_ack; /* a second chore follows */
    char id[ID_LEN + 1];
};

static struct {
    struct plan plan;
    enum phase phase;
    struct conn **conns;
    int count;
    struct heap chores;
    int64_t last_job; /* PHASE_DRAIN */
    int empty_gets;
} roles;

uint64_t roles_added, roles_taken, roles_acked;

static int order_queue(void) {
    return roles.plan.queues;
}

static int full_queue(void) {
    return roles.plan.queues + 1;
}

static void no_reply(struct conn *c, char verb, const redisReply *reply) {
    (void)c;
    (void)verb;
    (void)reply;
}

static void no_loss(struct conn *c) {
    (void)c;
}

/* ---- words of a command ---- */

struct words {
    struct slice argv[ARGS_MOST];
    char text[ARGS_MOST][24];
    int count;
};

static void word(struct words *w, const char *literal) {
    w->argv[w->count++] = slice_str(literal);
}

static void word_slice(struct words *w, struct slice s) {
    w->argv[w->count++] = s;
}

static void word_int(struct words *w, long long value) {
    snprintf(w->text[w->count], sizeof w->text[0], "%lld", value);
    w->argv[w->count] = slice_str(w->text[w->count]);
    w->count++;
}

static void word_option(struct words *w, const char *name, long long value) {
    word(w, name);
    word_int(w, value);
}

/* ---- producers ---- */

struct order {
    int queue;
    int retry, delay, ttl, timeout_ms, maxlen;
};

static int one_in(uint32_t n) {
    return books_random(n) == 0;
}

static int between(int low, int high) {
    return low + (int)books_random((uint32_t)(high - low + 1));
}

static struct order choose_order(const struct conn *c) {
    struct order o = { .queue = order_queue(), .retry = roles.plan.retry_max };

    if (c->serial == 0)
        return o;
    o.queue = between(0, roles.plan.queues - 1);
    o.retry = one_in(7) ? 0 : between(1, roles.plan.retry_max);
    o.timeout_ms = one_in(3) ? between(500, 3500) : 0;
    if (one_in(100)) {
        o.queue = full_queue();
        o.maxlen = MAXLEN;
        return o;
    }
    o.delay = one_in(12) ? between(1, 2) : 0;
    o.ttl = one_in(25) ? between(3, 8) : 0;
    return o;
}

static void add_job(struct conn *c) {
    struct order o = choose_order(c);
    uint64_t token = books_new_token();
    struct words w = { .count = 0 };

    conn_begin(c, 'a', token);
    history_print(" %llu %d %d %d %d %d %d", (unsigned long long)token, o.queue, o.retry, o.delay, o.ttl,
                  o.timeout_ms, o.maxlen);
    word(&w, "ADDJOB");
    word_slice(&w, books_name(o.queue));
    word_slice(&w, books_body(token));
    word_int(&w, o.timeout_ms);
    word_option(&w, "RETRY", o.retry);
    if (o.delay > 0)
        word_option(&w, "DELAY", o.delay);
    if (o.ttl > 0)
        word_option(&w, "TTL", o.ttl);
    if (o.maxlen > 0)
        word_option(&w, "MAXLEN", o.maxlen);
    conn_send(c, w.count, w.argv);
}

static void producer_step(struct conn *c) {
    struct producer *p = c->data;
    int64_t interval = (int64_t)roles.plan.producers * 1000000 / roles.plan.rate;
    int64_t now = history_clock();

    if (roles.phase == PHASE_LOAD && !roles.plan.gentle && c->count > 0 && one_in(4000)) {
        conn_kill(c, "died");
        return;
    }
    /* What a stall held up is not made up for. */
    if (p->next < now - 100 * MS)
        p->next = now;
    while (roles.phase == PHASE_LOAD && c->count < p->depth && p->next <= now) {
        add_job(c);
        p->next += interval;
    }
    if (roles.phase == PHASE_LOAD && c->count < p->depth)
        conn_wake_at(c, p->next);
}

static void producer_reply(struct conn *c, char verb, const redisReply *reply) {
    (void)c;
    (void)verb;
    (void)reply;
    roles_added++;
}

static const struct conn_role producer = { producer_step, producer_reply, no_loss };

/* ---- chores, and the hands that do them ---- */

static void put_off(const char *id, char verb, int ms_least, int ms_most, bool then_ack) {
    struct chore *chore = xcalloc(1, sizeof *chore);

    chore->verb = verb;
    chore->then_ack = then_ack;
    memcpy(chore->id, id, ID_LEN);
    heap_set(&roles.chores, &chore->due, history_clock() + between(ms_least, ms_most) * (int64_t)MS);
}

static const char *command_of(char verb) {
    static const struct {
        char verb;
        const char *name;
    } commands[] = { { 'k', "ACKJOB" },  { 'f', "FASTACK" }, { 'd', "DELJOB" }, { 'n', "NACK" },
                     { 'e', "ENQUEUE" }, { 'w', "WORKING" }, { 'x', "DEQUEUE" } };

    for (size_t i = 0; i < LENGTH(commands); i++)
        if (commands[i].verb == verb)
            return commands[i].name;
    abort();
}

static void send_id(struct conn *c, char verb, const char *id) {
    struct words w = { .count = 0 };

    conn_begin(c, verb, 0);
    history_print(" %s", id);
    word(&w, command_of(verb));
    word(&w, id);
    conn_send(c, w.count, w.argv);
}

static void do_chore(struct conn *c, struct chore *chore) {
    heap_remove(&roles.chores, &chore->due);
    send_id(c, chore->verb, chore->id);
    if (chore->then_ack)
        put_off(chore->id, 'k', 200, roles.plan.retry_max * 1200, false);
    free(chore);
}

static void hand_step(struct conn *c) {
    struct heap_item *first = heap_first(&roles.chores);

    if (roles.phase != PHASE_LOAD || c->count > 0)
        return;
    if (first != NULL && first->due <= history_clock())
        do_chore(c, CONTAINER_OF(first, struct chore, due));
    else
        conn_wake_at(c, history_clock() + 20 * MS);
}

static const struct conn_role hand = { hand_step, no_reply, no_loss };

/* ---- consumers ---- */

static void ack_later(const char *id) {
    put_off(id, 'k', 10, 900, false);
}

static void ack_too_late(const char *id) {
    put_off(id, 'k', 1000, roles.plan.retry_max * 1000 + 1500, false);
}

static void work_on(const char *id) {
    put_off(id, 'w', 0, 1000, true);
}

static void nack(const char *id) {
    put_off(id, 'n', 0, 400, false);
}

static void enqueue(const char *id) {
    put_off(id, 'e', 0, 400, false);
}

static void dequeue(const char *id) {
    put_off(id, 'n', 0, 100, false);
    put_off(id, 'x', 0, 300, false);
}

static void delete_job(const char *id) {
    put_off(id, 'd', 0, 400, false);
}

static void fastack(const char *id) {
    put_off(id, 'f', 0, 400, false);
}

static void let_lie(const char *id) {
    (void)id;
}

/* What becomes of a job besides being acknowledged at once, out of a thousand. */
static const struct {
    uint32_t weight;
    void (*act)(const char *id);
} fates[] = {
    { 45, nack },      { 15, enqueue },      { 5, dequeue },  { 40, let_lie },    { 30, work_on },
    { 30, ack_later }, { 30, ack_too_late }, { 10, fastack }, { 10, delete_job },
};

static void acknowledge(struct consumer *con, const char *id) {
    memcpy(con->done[con->done_count++], id, ID_LEN);
}

static void decide(struct consumer *con, const char *id) {
    uint32_t roll = books_random(1000);

    for (size_t i = 0; i < LENGTH(fates); i++) {
        if (roll < fates[i].weight) {
            fates[i].act(id);
            return;
        }
        roll -= fates[i].weight;
    }
    acknowledge(con, id);
    /* Twice, now and then, and by another client. */
    if (roll % 64 == 0)
        ack_later(id);
}

static void ack_done(struct conn *c, struct consumer *con) {
    struct words w = { .count = 0 };
    int count = con->done_count < ARGS_MOST - 1 ? con->done_count : ARGS_MOST - 1;

    conn_begin(c, 'k', 0);
    word(&w, "ACKJOB");
    for (int i = 0; i < count; i++) {
        const char *id = con->done[con->done_count - 1 - i];

        history_print(" %s", id);
        word(&w, id);
    }
    con->done_count -= count;
    conn_send(c, w.count, w.argv);
}

/* The history gets the words that matter; FROM's queues by number. */
static void get_jobs(struct conn *c, int count, int timeout_ms, const int *queues, int queue_count) {
    struct words w = { .count = 0 };

    conn_begin(c, 'g', 0);
    history_print(" %d %d ", count, timeout_ms);
    word(&w, "GETJOB");
    if (timeout_ms < 0)
        word(&w, "NOHANG");
    else
        word_option(&w, "TIMEOUT", timeout_ms);
    word_option(&w, "COUNT", count);
    word(&w, "WITHCOUNTERS");
    word(&w, "FROM");
    for (int i = 0; i < queue_count; i++) {
        history_print(i > 0 ? ",%d" : "%d", queues[i]);
        word_slice(&w, books_name(queues[i]));
    }
    conn_send(c, w.count, w.argv);
}

static void get_some(struct conn *c, struct consumer *con) {
    int order = order_queue(), queues[4], count = between(1, 4);

    if (c->serial == 0) {
        get_jobs(c, 1, 500, &order, 1);
        return;
    }
    for (int i = 0; i < count; i++)
        queues[i] = between(0, roles.plan.queues - 1);
    get_jobs(c, one_in(3) ? between(2, 20) : 1, one_in(5) ? -1 : between(100, 2000), queues, count);
    if (!roles.plan.gentle && one_in(300)) {
        con->dies_at = history_clock() + between(0, 200) * (int64_t)MS;
        conn_wake_at(c, con->dies_at);
    }
}

static void get_all(struct conn *c) {
    int queues[BOOKS_QUEUES_MOST];

    for (int i = 0; i < roles.plan.queues + 2; i++)
        queues[i] = i;
    get_jobs(c, TAKE_MOST, 300, queues, roles.plan.queues + 2);
}

static void consumer_step(struct conn *c) {
    struct consumer *con = c->data;

    if (con->dies_at != 0 && con->dies_at <= history_clock()) {
        conn_kill(c, "died");
        return;
    }
    if (c->count > 0 || roles.phase == PHASE_STOP)
        return;
    if (con->done_count > 0)
        ack_done(c, con);
    else if (roles.phase == PHASE_LOAD)
        get_some(c, con);
    else
        get_all(c);
}

static void took(struct conn *c, const redisReply *jobs) {
    struct consumer *con = c->data;

    for (size_t i = 0; i < jobs->elements; i++) {
        const char *id = jobs->element[i]->element[1]->str;

        roles_taken++;
        if (roles.phase == PHASE_DRAIN || c->serial == 0)
            acknowledge(con, id);
        else
            decide(con, id);
    }
    /* Asking in vain, without waiting, is no reason to ask again at once. */
    if (jobs->elements == 0)
        c->not_before = history_clock() + 5 * MS;
    if (jobs->elements > 0)
        roles.last_job = history_clock();
    roles.empty_gets = jobs->elements > 0 ? 0 : roles.empty_gets + 1;
}

static void consumer_reply(struct conn *c, char verb, const redisReply *reply) {
    if (verb == 'g')
        took(c, reply);
    else
        roles_acked++;
}

static void consumer_lost(struct conn *c) {
    struct consumer *con = c->data;

    con->done_count = 0;
    con->dies_at = 0;
}

static const struct conn_role consumer = { consumer_step, consumer_reply, consumer_lost };

/* ---- all of them ---- */

static void add_conn(const struct conn_role *role, int serial, void *data) {
    roles.conns[roles.count++] = conn_new(role, (unsigned)serial, data);
}

static void add_producer(int serial) {
    static const unsigned depths[] = { 1, 1, 4, 16 };
    struct producer *p = xcalloc(1, sizeof *p);

    p->depth = depths[serial % 4];
    add_conn(&producer, serial, p);
}

void roles_start(const struct plan *plan) {
    roles.plan = *plan;
    roles.conns = xcalloc((size_t)(plan->producers + plan->consumers + plan->hands), sizeof(struct conn *));
    for (int i = 0; i < plan->producers; i++)
        add_producer(i);
    for (int i = 0; i < plan->consumers; i++)
        add_conn(&consumer, i, xcalloc(1, sizeof(struct consumer)));
    for (int i = 0; i < plan->hands; i++)
        add_conn(&hand, i, NULL);
}

void roles_set_phase(enum phase phase) {
    roles.phase = phase;
    roles.last_job = history_clock();
    roles.empty_gets = 0;
    for (int i = 0; phase == PHASE_DRAIN && i < roles.count; i++)
        if (roles.conns[i]->connected)
            conn_wake_at(roles.conns[i], history_clock());
}

bool roles_idle(void) {
    for (int i = 0; i < roles.count; i++)
        if (!conn_idle(roles.conns[i]))
            return false;
    return true;
}

double roles_quiet_s(void) {
    int64_t quiet = history_clock() - roles.last_job;

    return roles.empty_gets < 3 ? 0 : (double)quiet / 1e6;
}

void roles_free(void) {
    struct heap_item *first;

    for (int i = 0; i < roles.count; i++) {
        void *data = roles.conns[i]->data;

        conn_free(roles.conns[i]);
        free(data);
    }
    free(roles.conns);
    while ((first = heap_first(&roles.chores)) != NULL) {
        heap_remove(&roles.chores, first);
        free(CONTAINER_OF(first, struct chore, due));
    }
    heap_free(&roles.chores);
}
