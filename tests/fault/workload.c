/* The choice of a job's queue and options by producers. */
#include "workload.h"

#include <stdio.h>

#include "generator.h"
#include "history.h"
#include "words.h"

#define MAXLEN 20
#define GROUPS 20
#define FAR_QUEUES 2

struct order {
    int queue;
    int retry, delay, ttl, timeout_ms, maxlen, attempts, group, dead_letter_queue;
};

static struct {
    int queues;
    int retry_max;
} workload;

void workload_start(int queues, int retry_max) {
    workload.queues = queues;
    workload.retry_max = retry_max;
}

int workload_queue(enum special_queue which) {
    return workload.queues + (int)which;
}

int workload_all_queues(void) {
    return workload.queues + SPECIAL_QUEUES;
}

/* ---- queues ---- */

static bool may_use(const struct conn *c, int queue, bool adds) {
    bool near = c->server == (unsigned)queue % conn_servers;

    return conn_servers == 1 || queue >= FAR_QUEUES || near == adds;
}

static int ordinary_queue(const struct conn *c, bool adds) {
    int queue;

    do
        queue = generator_between(0, workload.queues - 1);
    while (!may_use(c, queue, adds));
    return queue;
}

int workload_queue_to_add(const struct conn *c) {
    return ordinary_queue(c, true);
}

int workload_queue_to_take(const struct conn *c, bool key_clients) {
    if (generator_one_in(3))
        return workload_queue(QUEUE_POISON + generator_random(SPECIAL_QUEUES - QUEUE_POISON));
    if (key_clients && generator_one_in((uint32_t)workload.queues + 1))
        return workload_queue(QUEUE_KEYS);
    return ordinary_queue(c, false);
}

/* ---- options ---- */

static void make_full(struct order *o) {
    o->queue = workload_queue(QUEUE_FULL);
    o->maxlen = MAXLEN;
}

static void make_poison(struct order *o) {
    o->queue = workload_queue(QUEUE_POISON);
    o->attempts = generator_between(1, 3);
    o->retry = generator_between(1, 2);
    o->dead_letter_queue = generator_one_in(2) ? workload_queue(QUEUE_DEAD_LETTERS) : 0;
}

static void make_grouped(struct order *o) {
    o->queue = workload_queue(QUEUE_GROUPS);
    o->retry = generator_between(1, workload.retry_max);
    o->group = generator_between(1, GROUPS);
}

static void make_limited(struct order *o) {
    o->queue = workload_queue(QUEUE_LIMITED);
    o->retry = generator_between(1, 2);
}

static void make_kept(struct order *o) {
    o->queue = workload_queue(QUEUE_KEPT);
    o->retry = generator_between(1, workload.retry_max);
}

/* The number of special jobs among a thousand. */
static const struct {
    uint32_t weight;
    void (*make)(struct order *o);
} specials[] = {
    { 10, make_full }, { 20, make_poison }, { 30, make_grouped }, { 15, make_limited }, { 25, make_kept },
};

static bool make_special(struct order *o) {
    uint32_t roll = generator_random(1000);

    for (size_t i = 0; i < LENGTH(specials); i++) {
        if (roll < specials[i].weight) {
            specials[i].make(o);
            return true;
        }
        roll -= specials[i].weight;
    }
    return false;
}

static struct order choose_order(const struct conn *c) {
    struct order o = { .queue = workload_queue(QUEUE_ORDER), .retry = workload.retry_max };

    if (c->serial == 0)
        return o;
    o.queue = workload_queue_to_add(c);
    o.retry = generator_one_in(7) ? 0 : generator_between(1, workload.retry_max);
    o.timeout_ms = generator_one_in(3) ? generator_between(500, 3500) : 0;
    if (make_special(&o))
        return o;
    o.delay = generator_one_in(12) ? generator_between(1, 2) : 0;
    o.ttl = generator_one_in(25) ? generator_between(3, 8) : 0;
    return o;
}

static void note(const struct order *o, uint64_t token) {
    history_print(" %llu %d %d %d %d %d %d", (unsigned long long)token, o->queue, o->retry, o->delay, o->ttl,
                  o->timeout_ms, o->maxlen);
    if (o->attempts > 0 || o->group > 0)
        history_print(" 0 0 %d %d %d", o->attempts, o->group, o->dead_letter_queue);
}

static void option(struct words *w, const char *name, int value) {
    if (value > 0)
        word_option(w, name, value);
}

void workload_add_job(struct conn *c) {
    struct order o = choose_order(c);
    uint64_t token = generator_new_token();
    struct words w = { .count = 0 };

    conn_begin(c, 'a', token);
    note(&o, token);
    word(&w, "ADDJOB");
    word_slice(&w, generator_name(o.queue));
    word_slice(&w, generator_body(token));
    word_int(&w, o.timeout_ms);
    word_option(&w, "RETRY", o.retry);
    option(&w, "DELAY", o.delay);
    option(&w, "TTL", o.ttl);
    option(&w, "MAXLEN", o.maxlen);
    option(&w, "ATTEMPTS", o.attempts);
    option(&w, "GROUP", o.group);
    if (o.dead_letter_queue > 0) {
        word(&w, "DEADQUEUE");
        word_slice(&w, generator_name(o.dead_letter_queue));
    }
    conn_send(c, w.count, w.argv);
}
