/* HEALTH: adds, takes and acknowledges a real job, and measures the time. */
#include <stdio.h>

#include "base/clock.h"
#include "base/node.h"
#include "base/timer.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "jobs/add.h"
#include "jobs/id_list.h"
#include "jobs/job.h"
#include "jobs/take.h"
#include "net/args.h"
#include "pg/db.h"
#include "queue/delivery.h"
#include "queue/queue.h"

/*
 * There is one job at a time. It serves all requests that arrived before it was added.
 *
 * All servers use the same hidden queue (queue.h). Each server takes its job by its key. A job that a failed
 * server leaves there expires after a minute. Because of RETRY 0 it is not delivered again before.
 */
#define TIMEOUT_MS 5000
#define TTL_S "60"
#define TAKEN "ERR the job was added, but another client took it from the queue " QUEUE_HIDDEN

/* A HEALTH request that waits for the end of a run. */
struct health_waiter {
    struct list node;
    struct timer timeout;
    struct req *r;
    int64_t timeout_ms;
};

static struct {
    struct list next; /* requests that arrived since the run began */
    struct list now;  /* requests that this run serves */
    struct timer begin;
    bool runs;
    struct task claim;
    struct job_key key; /* key of the test job */
    struct queue *q;    /* queue of the test job, from the insert to the end */
    bool taken;
    bool unsure; /* the result of the claim was lost: the job may have been taken */
} health = { .next = { &health.next, &health.next }, .now = { &health.now, &health.now } };

static void health_begin_run(struct timer *t);

/* ---- end of a run ---- */

static void dismiss(struct health_waiter *p) {
    list_remove(&p->node);
    timer_stop(&p->timeout);
}

/* error: the text of the error reply without the minus. Length 0: success. */
static void answer(struct health_waiter *p, struct slice error) {
    struct req *r = p->r;

    dismiss(p);
    if (error.len > 0)
        req_error(r, "%.*s", (int)error.len, error.ptr);
    else
        req_int(r, (clock_mono() - r->started_us) / US_PER_MS);
}

/* A request that arrives during a run belongs to the next run. */
static void end_run(struct slice error) {
    while (!list_empty(&health.now))
        answer(LIST_ENTRY(health.now.next, struct health_waiter, node), error);
    if (health.q != NULL)
        health.q->users--;
    health.q = NULL;
    health.runs = false;
    if (!list_empty(&health.next))
        timer_set(&health.begin, clock_mono(), health_begin_run);
}

/* For a refused request of the server itself. Its reply is "-CODE text" and a line end. */
static void end_refused(const struct req *r) {
    end_run((struct slice){ buf_ptr(&r->own) + 1, buf_len(&r->own) - 3 });
}

/* ---- ack ---- */

static void on_acked(struct req *r) {
    if (r->failed)
        end_refused(r);
    else if (!health.taken && !health.unsure)
        end_run(SLICE(TAKEN));
    else
        end_run((struct slice){ "", 0 });
    req_free(r);
}

static void ack(void) {
    struct req *r = req_new(0, NULL, NULL, on_acked);

    job_ids_set(r, health.key);
    r->task.op = &op_ack_jobs;
    batch_add(&r->task);
}

/* ---- get ---- */

static void claim_encode(struct params *p, struct task *t) {
    (void)t;
    params_key(p, 0, health.key);
}

static void claim_done(struct task *t, const PGresult *rows) {
    (void)t;
    health.taken = PQntuples(rows) > 0;
    if (health.taken) {
        job_claimed(health.q, health.key);
        position_remove_keys(&health.q->scan, &health.key, 1);
        jobs_note_delivered(&(struct job){ .q = health.q, .key = health.key }, 1);
    }
    ack();
}

static void health_claim_fail(struct task *t, const struct op_error *err) {
    char text[600];
    int len = snprintf(text, sizeof text, "DBERR the database refused the claim: %s (SQLSTATE %s)",
                       err->message, err->sqlstate);

    (void)t;
    end_run((struct slice){ text, len < (int)sizeof text ? (size_t)len : sizeof text - 1 });
}

/* A claim that is sent again cannot take the job twice, because of RETRY 0. */
static bool health_claim_again(struct task *t, bool unknown) {
    (void)t;
    health.unsure |= unknown;
    return true;
}

OPERATION(health_claim, .takes = true, .begin = take_begin_keys, .encode = claim_encode, .on_end = claim_done,
          .fail = health_claim_fail, .again = health_claim_again);

static void claim(void) {
    health.claim = (struct task){ .op = &op_health_claim, .rows = 1 };
    fair_node_init(&health.claim.turn);
    batch_add(&health.claim);
}

/* ---- add ---- */

static void on_added(struct req *r) {
    if (r->failed) {
        end_refused(r);
    } else {
        const struct add *a = r->data;

        health.key = add_job_key(a, 0);
        health.q = a->q;
        health.q->users++;
        claim();
    }
    req_free(r);
}

static void health_begin_run(struct timer *t) {
    const struct slice words[] = { SLICE("ADDJOB"), SLICE(QUEUE_HIDDEN), slice_str(node_self()->id),
                                   SLICE("0"),      SLICE("RETRY"),      SLICE("0"),
                                   SLICE("TTL"),    SLICE(TTL_S) };
    struct req *r;

    (void)t;
    if (health.runs || list_empty(&health.next))
        return;
    r = req_new(LENGTH(words), words, NULL, on_added);
    health.runs = true;
    health.taken = health.unsure = false;
    list_splice_back(&health.now, &health.next);
    r->cmd = command_lookup(words[0]);
    cmd_addjob(r);
}

/* ---- the command ---- */

static const struct arg_option health_words[] = {
    { "TIMEOUT", ARG_INT, offsetof(struct health_waiter, timeout_ms), 1, INT32_MAX,
      "ERR TIMEOUT must be a number of milliseconds greater than zero" },
};

static const struct arg_spec health_spec = { health_words, LENGTH(health_words), NULL, NULL, NULL };

static void health_give_up(struct timer *t) {
    struct health_waiter *p = CONTAINER_OF(t, struct health_waiter, timeout);
    struct req *r = p->r;
    int64_t ms = p->timeout_ms;

    dismiss(p);
    if (batch_connected(CONN_WRITE))
        req_error(r, "NOREPL no job passed add, get and ack within %lld milliseconds", (long long)ms);
    else
        req_error(r, "NOREPL the database cannot be reached: %s", db_last_error());
}

void cmd_health(struct req *r) {
    struct health_waiter *p = req_alloc(r, sizeof *p);
    int end;

    p->r = r;
    p->timeout_ms = TIMEOUT_MS;
    if (!args_parse_or_reply(r, 1, &health_spec, p, &end))
        return;
    list_push_back(&health.next, &p->node);
    timer_set(&p->timeout, clock_mono() + p->timeout_ms * US_PER_MS, health_give_up);
    timer_set(&health.begin, clock_mono(), health_begin_run);
}
