/* Moves exhausted jobs to the dead letters, or to the queue that DEADQUEUE names. */
#include "jobs/dead_letter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/job.h"
#include "queue/lease.h"
#include "queue/queue.h"
#include "queue/queue_store.h"
#include "queue/waiters.h"

/* Pause after an error. */
#define AGAIN_US US_PER_S

struct dead_letter {
    struct task task;
    struct job_key key;
    void (*ended)(void *arg);
    void *arg;
    /* Used while the dead-letter queue has no row, or no row that is known here. */
    struct row_waiter row_waiter;
    struct queue *to;
    bool moved; /* the job is in that queue already */
    int64_t expires_at;
};

static void on_dead_letter_open(struct task *t);
static void dead_letter_fail(struct task *t, const struct op_error *err);

void dead_letter_job(struct job_key key, void (*ended)(void *arg), void *arg) {
    struct dead_letter *d = xcalloc(1, sizeof *d);

    d->key = key;
    d->ended = ended;
    d->arg = arg;
    row_waiter_init(&d->row_waiter, &d->task, on_dead_letter_open, dead_letter_fail);
    task_init(&d->task, &op_dead_letter_jobs);
    batch_add(&d->task);
}

static void dead_letter_end(struct dead_letter *d) {
    if (d->to != NULL)
        d->to->users--;
    if (d->ended != NULL)
        d->ended(d->arg);
    free(d);
}

/* Gives the job a short lease. Its end starts the next try. */
static void try_later(struct dead_letter *d) {
    if (!lease_known(d->key.id)) {
        lease_add(d->key, clock_db() + AGAIN_US);
        lease_set_failed(d->key.id);
    }
    dead_letter_end(d);
}

/* ---- dead-letter queue ---- */

static void dead_letter_enter(struct dead_letter *d, struct queue *q) {
    job_entered(
        &(struct job_row){ .q = q, .key = { q->id, d->key.rank, d->key.id }, .wake_at = d->expires_at },
        JOB_ARRIVED);
}

static void on_dead_letter_open(struct task *t) {
    struct dead_letter *d = CONTAINER_OF(t, struct dead_letter, task);

    if (d->moved) {
        dead_letter_enter(d, d->to);
        dead_letter_end(d);
    } else {
        batch_add(&d->task);
    }
}

static void open_queue(struct dead_letter *d, struct slice name) {
    if (d->to == NULL) {
        d->to = queue_get(name);
        d->to->users++;
    }
    if (queue_is_open(d->to))
        try_later(d);
    else
        queue_wait_for_row(d->to, &d->row_waiter);
}

/* ---- statement ---- */

static void dead_letter_begin(struct params *p) {
    params_set_time(p, 3, clock_db());
}

static void dead_letter_encode(struct params *p, struct task *t) {
    params_key(p, 0, CONTAINER_OF(t, struct dead_letter, task)->key);
}

/* True if the text has the form of version 00 of W3C Trace Context. So it is safe in a line of the log. */
static bool is_traceparent(struct slice text) {
    if (text.len != 55)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        bool dash = i == 2 || i == 35 || i == 52;

        if (dash ? text.ptr[i] != '-' : memchr("0123456789abcdef", text.ptr[i], 16) == NULL)
            return false;
    }
    return true;
}

static void log_dead_letter(const struct queue *q, struct job_key key, const PGresult *rows, int row) {
    static struct log_kind kind;
    struct slice trace = row_bytes_or_null(rows, row, COL_DEAD_LETTER_JOBS_TRACEPARENT);
    int32_t deliveries = row_int4(rows, row, COL_DEAD_LETTER_JOBS_DELIVERIES);
    char id[JOBID_LEN], subject[128];

    job_format_id(id, key, row_time(rows, row, COL_DEAD_LETTER_JOBS_ENDED_AT),
                  row_int4(rows, row, COL_DEAD_LETTER_JOBS_RETRY));
    if (trace.ptr == NULL || !is_traceparent(trace))
        trace.len = 0;
    snprintf(subject, sizeof subject, "job %.*s%s%.*s", JOBID_LEN, id, trace.len > 0 ? " " : "",
             (int)trace.len, trace.len > 0 ? trace.ptr : "");
    log_sometimes(&kind, LOG_NOTICE_, subject, "became a dead letter of queue %s; it was delivered %d time%s",
                  log_escape(q->name, 100), deliveries, deliveries == 1 ? "" : "s");
}

/* The job was counted neither as ready nor as leased. */
static void count_dead_letter(struct job_key key, const PGresult *rows, int row) {
    struct queue *q = queue_find_id(key.queue_id);
    bool cancelled = row_bool(rows, row, COL_DEAD_LETTER_JOBS_IS_CANCELLED);

    job_left(
        &(struct job_row){ .key = key,
                           .queued_since = TIME_BEGINNING,
                           .expires_at = row_time(rows, row, COL_DEAD_LETTER_JOBS_ENDED_AT),
                           .retry = row_int4(rows, row, COL_DEAD_LETTER_JOBS_RETRY),
                           .group = row_bytes_or_null(rows, row, COL_DEAD_LETTER_JOBS_GROUP_KEY),
                           .in_flow = !row_null(rows, row, COL_DEAD_LETTER_JOBS_IN_FLOW),
                           .is_dead_job = !cancelled && row_null(rows, row, COL_DEAD_LETTER_JOBS_DEADQUEUE) },
        cancelled ? JOB_CANCELLED : JOB_DEAD);
    if (q != NULL && !cancelled)
        log_dead_letter(q, key, rows, row);
}

/* Columns: ordinal, deadqueue, moved_to, expires_at, ended_at, retry, group_key, is_cancelled, in_flow,
 * deliveries, traceparent. */
static void dead_lettered(struct dead_letter *d, const PGresult *rows, int row) {
    struct queue *q;

    if (row_null(rows, row, COL_DEAD_LETTER_JOBS_DEADQUEUE)) {
        count_dead_letter(d->key, rows, row);
        dead_letter_end(d);
        return;
    }
    if (row_null(rows, row, COL_DEAD_LETTER_JOBS_MOVED_TO)) {
        open_queue(d, row_bytes(rows, row, COL_DEAD_LETTER_JOBS_DEADQUEUE));
        return;
    }
    count_dead_letter(d->key, rows, row);
    d->moved = true;
    d->expires_at = row_time(rows, row, COL_DEAD_LETTER_JOBS_EXPIRES_AT);
    q = queue_find_id(row_int4(rows, row, COL_DEAD_LETTER_JOBS_MOVED_TO));
    if (q == NULL) {
        open_queue(d, row_bytes(rows, row, COL_DEAD_LETTER_JOBS_DEADQUEUE));
        return;
    }
    dead_letter_enter(d, q);
    dead_letter_end(d);
}

/* The rows are in no order. A job without a row is not exhausted, or another server has moved it. */
static void dead_letter_done(struct task **tasks, size_t count, const PGresult *rows) {
    bool *found = xcalloc(count, sizeof *found);

    for (int i = 0; i < PQntuples(rows); i++) {
        int32_t ordinal = row_int4(rows, i, COL_DEAD_LETTER_JOBS_ORDINAL);

        found[ordinal - 1] = true;
        dead_lettered(CONTAINER_OF(tasks[ordinal - 1], struct dead_letter, task), rows, i);
    }
    for (size_t i = 0; i < count; i++)
        if (!found[i])
            dead_letter_end(CONTAINER_OF(tasks[i], struct dead_letter, task));
    free(found);
}

static void dead_letter_fail(struct task *t, const struct op_error *err) {
    (void)err;
    try_later(CONTAINER_OF(t, struct dead_letter, task));
}

OPERATION(dead_letter_jobs, .names_jobs = true, .begin = dead_letter_begin, .encode = dead_letter_encode,
          .done = dead_letter_done, .fail = dead_letter_fail);
