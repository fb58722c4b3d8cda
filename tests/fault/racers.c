/* Clients that race for keys. */
#include "racers.h"

#include "books.h"
#include "history.h"
#include "words.h"

#define HEAT_US 30000
#define KEYS 24
/* Of every second key: more than a round of all keys takes. */
#define FOR_S 2

struct racer {
    int queue, retry;
    int64_t heat; /* the last one in which it took part */
};

static bool running = true;

void *racer_new(int queue, int retry) {
    struct racer *r = xcalloc(1, sizeof *r);

    *r = (struct racer){ .queue = queue, .retry = retry };
    return r;
}

void racers_run(bool run) {
    running = run;
}

static void add_job(struct conn *c, const struct racer *r, int key) {
    uint64_t token = books_new_token();
    int for_s = key % 2 == 1 ? FOR_S : 0;
    struct words w = { .count = 0 };

    conn_begin(c, 'a', token);
    history_print(" %llu %d %d 0 0 0 0 %d %d", (unsigned long long)token, r->queue, r->retry, key, for_s);
    word(&w, "ADDJOB");
    word_slice(&w, books_name(r->queue));
    word_slice(&w, books_body(token));
    word_int(&w, 0);
    word_option(&w, "RETRY", r->retry);
    word_option(&w, "UNIQUE", key);
    if (for_s > 0)
        word_option(&w, "FOR", for_s);
    conn_send(c, w.count, w.argv);
}

/* Who is held up by an answer misses heats. */
static void racer_step(struct conn *c) {
    struct racer *r = c->data;
    int64_t heat = history_clock() / HEAT_US;

    if (!running || c->count > 0)
        return;
    if (heat != r->heat) {
        r->heat = heat;
        add_job(c, r, 1 + (int)(heat % KEYS));
    } else {
        conn_wake_at(c, (heat + 1) * HEAT_US);
    }
}

static void racer_reply(struct conn *c, char verb, const redisReply *reply) {
    (void)c;
    (void)verb;
    (void)reply;
}

static void racer_lost(struct conn *c) {
    (void)c;
}

const struct conn_role racer = { racer_step, racer_reply, racer_lost };
