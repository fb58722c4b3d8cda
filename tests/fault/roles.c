/* The roles of clients: producing, consuming, delayed actions, draining. */
#include "roles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "burst_clients.h"
#include "conn.h"
#include "flow_clients.h"
#include "generator.h"
#include "history.h"
#include "key_clients.h"
#include "words.h"
#include "workload.h"

#define ID_LEN 40
#define TAKE_MOST 100
#define MS 1000

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
    int empty_gets[CONN_SERVERS_MOST];
} roles;

uint64_t roles_added, roles_taken, roles_acked;

static void no_reply(struct conn *c, char verb, const redisReply *reply) {
    (void)c;
    (void)verb;
    (void)reply;
}

static void no_loss(struct conn *c) {
    (void)c;
}

/* ---- producers ---- */

static void producer_step(struct conn *c) {
    struct producer *p = c->data;
    int64_t interval = (int64_t)roles.plan.producers * 1000000 / roles.plan.rate;
    int64_t now = history_clock();

    if (roles.phase == PHASE_LOAD && !roles.plan.gentle && c->count > 0 && generator_one_in(4000)) {
        conn_kill(c, "died");
        return;
    }
    /* After a stall the producer does not catch up. */
    if (p->next < now - 100 * MS)
        p->next = now;
    while (roles.phase == PHASE_LOAD && c->count < p->depth && p->next <= now) {
        workload_add_job(c);
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
    heap_set(&roles.chores, &chore->due,
             history_clock() + generator_between(ms_least, ms_most) * (int64_t)MS);
}

static const char *command_of(char verb) {
    static const struct {
        char verb;
        const char *name;
    } commands[] = { { 'k', "ACKJOB" },  { 'f', "FASTACK" }, { 'd', "DELJOB" },  { 'n', "NACK" },
                     { 'e', "ENQUEUE" }, { 'w', "WORKING" }, { 'x', "DEQUEUE" }, { 'c', "CANCEL" } };

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

/* Its worker hears of it by WORKING, and may be done all the same. */
static void cancel(const char *id) {
    if (roles.plan.life_clients == 0)
        return;
    put_off(id, 'c', 0, 400, false);
    put_off(id, 'w', 200, 800, generator_one_in(2));
}

static void fastack(const char *id) {
    put_off(id, 'f', 0, 400, false);
}

static void let_lie(const char *id) {
    (void)id;
}

/* The number of jobs among a thousand that the consumer does not acknowledge at once, by action. */
static const struct {
    uint32_t weight;
    void (*act)(const char *id);
} fates[] = {
    { 45, nack },      { 15, enqueue },      { 5, dequeue },  { 40, let_lie },    { 30, work_on },
    { 30, ack_later }, { 30, ack_too_late }, { 10, fastack }, { 10, delete_job }, { 15, cancel },
};

static void acknowledge(struct consumer *con, const char *id) {
    memcpy(con->done[con->done_count++], id, ID_LEN);
}

static void decide(struct consumer *con, const char *id) {
    uint32_t roll = generator_random(1000);

    for (size_t i = 0; i < LENGTH(fates); i++) {
        if (roll < fates[i].weight) {
            fates[i].act(id);
            return;
        }
        roll -= fates[i].weight;
    }
    /* By another client, perhaps of another server. */
    if (conn_servers > 1 && roll % 8 == 1) {
        put_off(id, 'k', 0, 5, false);
        return;
    }
    acknowledge(con, id);
    /* Twice, now and then, and by another client. */
    if (roll % 64 == 0)
        ack_later(id);
}

/* A transaction acknowledges the last job and adds another one. */
static void pass_on(struct conn *c, struct consumer *con) {
    const char *id = con->done[--con->done_count];
    uint64_t token = generator_new_token();
    int queue = workload_queue_to_add(c), retry = generator_between(1, roles.plan.retry_max);
    struct words multi = { .count = 0 }, ack = { .count = 0 }, add = { .count = 0 }, exec = { .count = 0 };

    word(&multi, "MULTI");
    word(&ack, "ACKJOB");
    word(&ack, id);
    word(&add, "ADDJOB");
    word_slice(&add, generator_name(queue));
    word_slice(&add, generator_body(token));
    word(&add, "0");
    word_option(&add, "RETRY", retry);
    word(&exec, "EXEC");
    conn_send_quietly(c, multi.count, multi.argv);
    conn_send_quietly(c, ack.count, ack.argv);
    conn_send_quietly(c, add.count, add.argv);
    conn_begin(c, 'k', token);
    history_print(" %s", id);
    conn_begin_second(c, 'a');
    history_print(" %llu %d %d 0 0 0 0", (unsigned long long)token, queue, retry);
    conn_send(c, exec.count, exec.argv);
}

/* The first consumer takes the jobs of a single producer, whose order the checker judges. */
static bool may_pass_on(const struct conn *c) {
    return roles.phase == PHASE_LOAD && c->serial != 0 && generator_one_in(6);
}

static void ack_done(struct conn *c, struct consumer *con) {
    struct words w = { .count = 0 };
    int count = con->done_count < WORDS_MOST - 1 ? con->done_count : WORDS_MOST - 1;

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
        word_slice(&w, generator_name(queues[i]));
    }
    conn_send(c, w.count, w.argv);
}

static void get_some(struct conn *c, struct consumer *con) {
    int order = workload_queue(QUEUE_ORDER), queues[4], count = generator_between(1, 4);

    if (c->serial == 0) {
        get_jobs(c, 1, 500, &order, 1);
        return;
    }
    for (int i = 0; i < count; i++)
        queues[i] = workload_queue_to_take(c, roles.plan.key_clients > 0);
    get_jobs(c, generator_one_in(3) ? generator_between(2, 20) : 1,
             generator_one_in(5) ? -1 : generator_between(100, 2000), queues, count);
    if (!roles.plan.gentle && generator_one_in(300)) {
        con->dies_at = history_clock() + generator_between(0, 200) * (int64_t)MS;
        conn_wake_at(c, con->dies_at);
    }
}

static void get_all(struct conn *c) {
    int queues[BOOKS_QUEUES_MOST];

    for (int i = 0; i < workload_all_queues(); i++)
        queues[i] = i;
    get_jobs(c, TAKE_MOST, 300, queues, workload_all_queues());
}

static void consumer_step(struct conn *c) {
    struct consumer *con = c->data;

    if (con->dies_at != 0 && con->dies_at <= history_clock()) {
        conn_kill(c, "died");
        return;
    }
    if (c->count > 0 || roles.phase == PHASE_STOP)
        return;
    if (con->done_count > 0 && may_pass_on(c))
        pass_on(c, con);
    else if (con->done_count > 0)
        ack_done(c, con);
    else if (roles.phase == PHASE_LOAD)
        get_some(c, con);
    else
        get_all(c);
}

/* No worker ever acknowledges these jobs. Some workers send NACK, some do nothing, and some die. */
static bool is_poison(const redisReply *job) {
    return generator_queue(job->element[0]->str, job->element[0]->len) == workload_queue(QUEUE_POISON);
}

/* The job of a tick is there at the next ticks, too. */
static bool outlives_its_tick(const redisReply *job) {
    int queue = generator_queue(job->element[0]->str, job->element[0]->len);

    return roles.phase == PHASE_LOAD &&
           (queue == workload_queue(QUEUE_SKIPPED) || queue == workload_queue(QUEUE_RENEWED));
}

static void swallow(struct conn *c, struct consumer *con, const char *id) {
    if (roles.phase == PHASE_LOAD && generator_one_in(3))
        nack(id);
    else if (roles.phase == PHASE_LOAD && !roles.plan.gentle && generator_one_in(10)) {
        con->dies_at = history_clock();
        conn_wake_at(c, con->dies_at);
    }
}

static void took(struct conn *c, const redisReply *jobs) {
    struct consumer *con = c->data;

    for (size_t i = 0; i < jobs->elements; i++) {
        const char *id = jobs->element[i]->element[1]->str;

        roles_taken++;
        if (is_poison(jobs->element[i]))
            swallow(c, con, id);
        else if (outlives_its_tick(jobs->element[i]))
            put_off(id, 'k', 500, 2500, false);
        else if (roles.phase == PHASE_DRAIN || c->serial == 0)
            acknowledge(con, id);
        else
            decide(con, id);
    }
    /* Asking in vain, without waiting, is no reason to ask again at once. */
    if (jobs->elements == 0)
        c->not_before = history_clock() + 5 * MS;
    if (jobs->elements > 0)
        roles.last_job = history_clock();
    roles.empty_gets[c->server] = jobs->elements > 0 ? 0 : roles.empty_gets[c->server] + 1;
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
    workload_start(plan->queues, plan->retry_max);
    roles.conns = xcalloc((size_t)(plan->producers + plan->consumers + plan->hands + plan->key_clients +
                                   plan->flow_clients + plan->life_clients + plan->burst_clients),
                          sizeof(struct conn *));
    for (int i = 0; i < plan->producers; i++)
        add_producer(i);
    for (int i = 0; i < plan->consumers; i++)
        add_conn(&consumer, i, xcalloc(1, sizeof(struct consumer)));
    for (int i = 0; i < plan->hands; i++)
        add_conn(&hand, i, NULL);
    for (int i = 0; i < plan->key_clients; i++)
        add_conn(&key_client_role, i, key_client_new(KEY_TAKEN, workload_queue(QUEUE_KEYS), plan->retry_max));
    for (int i = 0; i < plan->life_clients; i++)
        add_conn(&key_client_role, i,
                 i % 2 == 0 ? key_client_new(KEY_REPLACED, workload_queue(QUEUE_REPLACED), plan->retry_max)
                            : key_client_new(KEY_STARTS, workload_queue(QUEUE_STARTS), plan->retry_max));
    for (int i = 0; i < plan->flow_clients; i++)
        add_conn(&flow_client_role, i, flow_client_new(workload_queue(QUEUE_FLOWS), plan->retry_max));
    for (int i = 0; i < plan->burst_clients; i++)
        add_conn(i % 4 == 0 ? &burst_producer_role : &burst_consumer_role, i,
                 burst_client_new(workload_queue(QUEUE_BURSTS)));
}

void roles_set_phase(enum phase phase) {
    roles.phase = phase;
    key_clients_run(phase == PHASE_LOAD);
    flow_clients_run(phase == PHASE_LOAD);
    burst_clients_run(phase == PHASE_LOAD);
    roles.last_job = history_clock();
    memset(roles.empty_gets, 0, sizeof roles.empty_gets);
    for (int i = 0; phase == PHASE_DRAIN && i < roles.count; i++) {
        conn_go_home(roles.conns[i]);
        if (roles.conns[i]->connected)
            conn_wake_at(roles.conns[i], history_clock());
    }
}

bool roles_idle(void) {
    for (int i = 0; i < roles.count; i++)
        if (!conn_idle(roles.conns[i]))
            return false;
    return true;
}

double roles_quiet_s(void) {
    int64_t quiet = history_clock() - roles.last_job;
    bool asked = false;

    for (int i = 0; i < roles.count; i++) {
        const struct conn *c = roles.conns[i];

        if (c->role != &consumer || !c->connected)
            continue;
        if (roles.empty_gets[c->server] < 3)
            return 0;
        asked = true;
    }
    return asked ? (double)quiet / 1e6 : 0;
}

void roles_lose_patience(void) {
    for (int i = 0; i < roles.count; i++)
        conn_lose_patience(roles.conns[i]);
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
