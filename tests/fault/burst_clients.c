/* Clients that add and take many jobs of a queue at once. */
#include "burst_clients.h"

#include <string.h>

#include "generator.h"
#include "history.h"
#include "words.h"

#define BURST 40
#define PAUSE_US 8000
/* Seconds. A killed server leaves its jobs ahead to the ends of their leases. */
#define RETRY 2
#define ID_SIZE 48

struct burst_client {
    int queue;
    int64_t next; /* when the next burst is due */
    char done[BURST][ID_SIZE];
    int done_count;
};

static bool running = true;

void *burst_client_new(int queue) {
    struct burst_client *b = xcalloc(1, sizeof *b);

    b->queue = queue;
    return b;
}

void burst_clients_run(bool run) {
    running = run;
}

static void client_lost(struct conn *c) {
    struct burst_client *b = c->data;

    b->done_count = 0;
}

/* ---- producers ---- */

static void add_job(struct conn *c, const struct burst_client *b) {
    uint64_t token = generator_new_token();
    struct words w = { .count = 0 };

    conn_begin(c, 'a', token);
    history_print(" %llu %d %d 0 0 0 0", (unsigned long long)token, b->queue, RETRY);
    word(&w, "ADDJOB");
    word_slice(&w, generator_name(b->queue));
    word_slice(&w, generator_body(token));
    word_int(&w, 0);
    word_option(&w, "RETRY", RETRY);
    conn_send(c, w.count, w.argv);
}

static void producer_step(struct conn *c) {
    struct burst_client *b = c->data;

    if (!running || c->count > 0)
        return;
    if (b->next > history_clock()) {
        conn_wake_at(c, b->next);
        return;
    }
    b->next = history_clock() + PAUSE_US;
    for (int i = 0; i < BURST; i++)
        add_job(c, b);
}

static void producer_reply(struct conn *c, char verb, const redisReply *reply) {
    (void)c;
    (void)verb;
    (void)reply;
}

const struct conn_role burst_producer_role = { producer_step, producer_reply, client_lost };

/* ---- consumers ---- */

static void get_jobs(struct conn *c, const struct burst_client *b) {
    struct words w = { .count = 0 };

    conn_begin(c, 'g', 0);
    history_print(" %d %d %d", BURST, 200, b->queue);
    word(&w, "GETJOB");
    word_option(&w, "TIMEOUT", 200);
    word_option(&w, "COUNT", BURST);
    word(&w, "WITHCOUNTERS");
    word(&w, "FROM");
    word_slice(&w, generator_name(b->queue));
    conn_send(c, w.count, w.argv);
}

static void acknowledge_jobs(struct conn *c, struct burst_client *b) {
    struct words w = { .count = 0 };

    conn_begin(c, 'k', 0);
    word(&w, "ACKJOB");
    for (; b->done_count > 0; b->done_count--) {
        history_print(" %s", b->done[b->done_count - 1]);
        word(&w, b->done[b->done_count - 1]);
    }
    conn_send(c, w.count, w.argv);
}

static void consumer_step(struct conn *c) {
    struct burst_client *b = c->data;

    if (c->count > 0)
        return;
    if (b->done_count > 0)
        acknowledge_jobs(c, b);
    else if (running)
        get_jobs(c, b);
}

/* A few jobs are delivered again. */
static void consumer_reply(struct conn *c, char verb, const redisReply *reply) {
    struct burst_client *b = c->data;

    for (size_t i = 0; verb == 'g' && i < reply->elements; i++) {
        const redisReply *id = reply->element[i]->element[1];

        if (!generator_one_in(200) && id->len < ID_SIZE)
            memcpy(b->done[b->done_count++], id->str, id->len + 1);
    }
}

const struct conn_role burst_consumer_role = { consumer_step, consumer_reply, client_lost };
