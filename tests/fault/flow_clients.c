/* Clients that add chains of jobs, each of which waits for the job before it. */
#include "flow_clients.h"

#include <string.h>

#include "generator.h"
#include "history.h"
#include "words.h"

#define CHAIN_MOST 6
#define PAUSE_US 20000
#define ID_SIZE 48

struct flow_job {
    uint64_t token;
    char id[ID_SIZE];
};

struct flow_client {
    int queue, retry_max;
    int length; /* jobs of the chain that the server has confirmed */
    struct flow_job first, last;
    uint64_t asked; /* token of the job whose reply is missing; 0: none */
    int64_t next;   /* when the next job is due */
};

static bool running = true;

void *flow_client_new(int queue, int retry_max) {
    struct flow_client *f = xcalloc(1, sizeof *f);

    *f = (struct flow_client){ .queue = queue, .retry_max = retry_max };
    return f;
}

void flow_clients_run(bool run) {
    running = run;
}

/* The first job begins later. Otherwise it may have ended before the second one names it. */
static void add_to_chain(struct conn *c, struct flow_client *f) {
    int retry = generator_between(1, f->retry_max), delay = f->length == 0;
    bool two = f->length > 1 && generator_one_in(3);
    struct words w = { .count = 0 };

    f->asked = generator_new_token();
    conn_begin(c, 'a', f->asked);
    history_print(" %llu %d %d %d 0 0 0 0 0 0 0 0", (unsigned long long)f->asked, f->queue, retry, delay);
    word(&w, "ADDJOB");
    word_slice(&w, generator_name(f->queue));
    word_slice(&w, generator_body(f->asked));
    word_int(&w, 0);
    word_option(&w, "RETRY", retry);
    if (delay > 0)
        word_option(&w, "DELAY", delay);
    if (f->length > 0) {
        history_print(" %llu", (unsigned long long)f->last.token);
        word(&w, "AFTER");
        word(&w, f->last.id);
    }
    if (two) {
        history_print(" %llu", (unsigned long long)f->first.token);
        word(&w, f->first.id);
    }
    if (f->length > 0) {
        word(&w, "ON");
        word(&w, "FAIL");
        word(&w, "continue");
    }
    conn_send(c, w.count, w.argv);
}

/* After an error, a new chain begins. */
static void flow_client_step(struct conn *c) {
    struct flow_client *f = c->data;

    if (!running || c->count > 0)
        return;
    if (f->asked != 0 || f->length == CHAIN_MOST)
        f->length = 0;
    f->asked = 0;
    if (f->next > history_clock()) {
        conn_wake_at(c, f->next);
        return;
    }
    f->next = history_clock() + PAUSE_US;
    add_to_chain(c, f);
}

static void flow_client_reply(struct conn *c, char verb, const redisReply *reply) {
    struct flow_client *f = c->data;

    (void)verb;
    if (reply->type != REDIS_REPLY_STATUS || reply->len >= ID_SIZE)
        return;
    f->last.token = f->asked;
    memcpy(f->last.id, reply->str, reply->len + 1);
    if (f->length++ == 0)
        f->first = f->last;
    f->asked = 0;
}

static void flow_client_lost(struct conn *c) {
    struct flow_client *f = c->data;

    f->length = 0;
    f->asked = 0;
}

const struct conn_role flow_client_role = { flow_client_step, flow_client_reply, flow_client_lost };
