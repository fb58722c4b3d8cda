/* Clients that race for keys. */
#include "key_clients.h"

#include "generator.h"
#include "history.h"
#include "words.h"

#define HEAT_US 30000
#define KEYS 24
/* Every second key has a FOR that is longer than a round of all keys. */
#define FOR_S 2

/* Fewer keys, so that more ADDJOBs find a job. */
#define KEYS_REPLACED 8
/* A delayed job waits for several heats of its key. */
#define DELAY_S 1
#define REPLACED_DELAY_S 2

struct key_client {
    enum key_kind kind;
    int queue, retry;
    int64_t heat; /* the last heat in which the client took part */
};

static bool running = true;

void *key_client_new(enum key_kind kind, int queue, int retry) {
    struct key_client *r = xcalloc(1, sizeof *r);

    *r = (struct key_client){ .kind = kind, .queue = queue, .retry = retry };
    return r;
}

void key_clients_run(bool run) {
    running = run;
}

static int delay_of(enum key_kind kind) {
    if (kind == KEY_REPLACED)
        return generator_one_in(6) ? REPLACED_DELAY_S : 0;
    return kind == KEY_STARTS ? DELAY_S : 0;
}

static void add_job(struct conn *c, const struct key_client *r, int key) {
    uint64_t token = generator_new_token();
    int for_s = r->kind == KEY_TAKEN && key % 2 == 1 ? FOR_S : 0, delay = delay_of(r->kind);
    struct words w = { .count = 0 };

    conn_begin(c, 'a', token);
    history_print(" %llu %d %d %d 0 0 0 %d %d", (unsigned long long)token, r->queue, r->retry, delay, key,
                  for_s);
    word(&w, "ADDJOB");
    word_slice(&w, generator_name(r->queue));
    word_slice(&w, generator_body(token));
    word_int(&w, 0);
    word_option(&w, "RETRY", r->retry);
    word_option(&w, "UNIQUE", key);
    if (for_s > 0)
        word_option(&w, "FOR", for_s);
    if (delay > 0)
        word_option(&w, "DELAY", delay);
    if (r->kind == KEY_REPLACED)
        word(&w, "REPLACE");
    if (r->kind == KEY_STARTS) {
        word(&w, "UNTIL");
        word(&w, "START");
    }
    conn_send(c, w.count, w.argv);
}

/* A client whose answer is late misses heats. */
static void key_client_step(struct conn *c) {
    struct key_client *r = c->data;
    int64_t heat = history_clock() / HEAT_US;

    if (!running || c->count > 0)
        return;
    if (heat != r->heat) {
        r->heat = heat;
        add_job(c, r, 1 + (int)(heat % (r->kind == KEY_REPLACED ? KEYS_REPLACED : KEYS)));
    } else {
        conn_wake_at(c, (heat + 1) * HEAT_US);
    }
}

static void key_client_reply(struct conn *c, char verb, const redisReply *reply) {
    (void)c;
    (void)verb;
    (void)reply;
}

static void key_client_lost(struct conn *c) {
    (void)c;
}

const struct conn_role key_client_role = { key_client_step, key_client_reply, key_client_lost };
