/* ADDJOB UNIQUE: adds a job unless a job with its key exists. In that case the reply is that job's ID. */
#include "jobs/add.h"

#include <string.h>

#include "base/clock.h"
#include "base/stats.h"
#include "batch/batch.h"
#include "batch/contention.h"
#include "batch/operations.h"
#include "jobs/groups.h"

/* Keys deleted by one statement. The next run, a minute later, deletes more. */
#define PRUNE_LIMIT 10000

_Static_assert(ADD_PARAMS + 4 <= PARAMS_MAX, "a statement has so many parameters");

static void unique_begin(struct params *p) {
    params_set_time(p, ADD_PARAMS + 2, clock_db());
}

/* A job whose insert was committed is encoded as expired. The statement does not add an expired job, and only finds
 * which job has the key. */
static void unique_encode(struct params *p, struct task *t) {
    struct add *a = REQ_OF_TASK(t)->data;
    struct job_times at = a->at;

    if (a->settled)
        a->at.expires_at = TIME_BEGINNING;
    add_encode(p, t);
    if (a->settled)
        a->at = at;
    params_bytea(p, ADD_PARAMS, a->opt.unique);
    if (a->opt.unique_for > 0)
        params_time(p, ADD_PARAMS + 1, clock_db() + a->opt.unique_for * US_PER_S);
    else
        params_null(p, ADD_PARAMS + 1, PARAM_TIME);
    if (addjob_has_group(&a->opt))
        params_bytea(p, ADD_PARAMS + 3, a->opt.group);
    else
        params_null(p, ADD_PARAMS + 3, PARAM_BYTEA);
}

/* ---- result: first the rows of taken keys by ordinal, then the rows of added jobs by id ---- */

static bool add_unique_has_row(const PGresult *rows, int row, int32_t ordinal) {
    return row < PQntuples(rows) && row_int4(rows, row, COL_ADD_UNIQUE_ORDINAL) == ordinal;
}

static int first_added(const PGresult *rows) {
    int row = 0;

    while (row < PQntuples(rows) && row_int4(rows, row, COL_ADD_UNIQUE_ORDINAL) != 0)
        row++;
    return row;
}

static bool is_added(const struct add *a, const PGresult *rows, int first) {
    int low = first, high = PQntuples(rows);

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (row_int8(rows, middle, COL_ADD_UNIQUE_ID) < a->key.id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < PQntuples(rows) && row_int8(rows, low, COL_ADD_UNIQUE_ID) == a->key.id;
}

/* The job is kept even if the client has got an error: a repeated ADDJOB with its key replies its ID. */
static void added(struct add *a) {
    add_left(a);
    add_committed(a);
    add_reply_id(a, a->key, a->at.expires_at, (int32_t)a->opt.retry);
    req_end(a->req);
}

/* After a lost transaction the key may be taken by the job itself. bootstrap.c has counted it then. */
static void taken(struct add *a, const PGresult *rows, int row) {
    struct job_key key = row_key(a->q->id, rows, row, COL_ADD_UNIQUE_RANK);

    if (key.id != a->key.id)
        stats.unique_taken++;
    else if (addjob_has_group(&a->opt))
        group_next(key.queue_id, a->opt.group);
    add_left(a);
    add_reply_id(a, key, row_time(rows, row, COL_ADD_UNIQUE_EXPIRES_AT),
                 row_int4(rows, row, COL_ADD_UNIQUE_RETRY));
    req_end(a->req);
}

/* Requests whose key another session is taking, ordered by resume_us. */
static struct list paused = { &paused, &paused };

static void unique_resume(struct timer *t) {
    for (;;) {
        struct add *a = LIST_ENTRY(paused.next, struct add, row_waiter.node);

        if (list_empty(&paused))
            return;
        if (a->resume_us > clock_mono()) {
            timer_set(t, a->resume_us, unique_resume);
            return;
        }
        list_remove(&a->row_waiter.node);
        batch_add(&a->req->task);
    }
}

static void pause_add(struct add *a) {
    static struct timer resume;

    a->resume_us = clock_mono() + CONTENTION_PAUSE_US;
    list_push_back(&paused, &a->row_waiter.node);
    if (!timer_is_set(&resume))
        timer_set(&resume, a->resume_us, unique_resume);
}

/* Most transactions that take a key have ended by the second try. A transaction of an application may stay open. */
static void try_again(struct add *a) {
    bool first = a->unseen_us == 0;

    stats.unique_retries++;
    if (contention_is_over(&a->unseen_us))
        add_fail(&a->req->task, &contention_error);
    else if (first)
        batch_add(&a->req->task);
    else
        pause_add(a);
}

/* The result has neither the job nor a holder of its key. If another session took the key while the statement ran,
 * the next try finds that session's job. A further try finds nothing if the request was given up, if the job has
 * expired, or if its insert was committed: the job may have been acknowledged since. */
static void add_unique_not_seen(struct add *a) {
    if (!a->given_up && !a->settled && a->at.expires_at > clock_db()) {
        try_again(a);
        return;
    }
    add_left(a);
    add_reply_id(a, a->key, a->at.expires_at, (int32_t)a->opt.retry);
    req_end(a->req);
}

static void unique_done(struct task **tasks, size_t count, const PGresult *rows) {
    int first = first_added(rows);
    int held = 0;

    for (size_t i = 0; i < count; i++) {
        struct add *a = REQ_OF_TASK(tasks[i])->data;

        add_completed(a);
        if (add_unique_has_row(rows, held, (int32_t)i + 1))
            taken(a, rows, held++);
        else if (is_added(a, rows, first))
            added(a);
        else
            add_unique_not_seen(a);
    }
}

/* SQLSTATE 23502, not null violation: another session took the key for a time while the statement ran, and its job
 * has gone (add_unique.sql). */
static void unique_fail(struct task *t, const struct op_error *err) {
    struct add *a = REQ_OF_TASK(t)->data;

    if (strcmp(err->sqlstate, "23502") != 0) {
        add_fail(t, err);
        return;
    }
    add_completed(a);
    add_unique_not_seen(a);
}

static bool unique_again(struct task *t, bool unknown) {
    struct add *a = REQ_OF_TASK(t)->data;

    add_completed(a);
    a->again |= unknown;
    return true;
}

/* The next statement finds the job that has the key: this one or another. It finds none if another server has
 * delivered the job and it was acknowledged. */
static void unique_answer_lost(struct task *t) {
    struct add *a = REQ_OF_TASK(t)->data;

    add_completed(a);
    a->again = a->settled = true;
    batch_add(t);
}

#define UNIQUE_OP(variable, text, how)              \
    struct op variable = { .name = text,            \
                           .stmt = SQL_ADD_UNIQUE,  \
                           .conn = CONN_WRITE,      \
                           .commit = how,           \
                           .begin = unique_begin,   \
                           .encode = unique_encode, \
                           .done = unique_done,     \
                           .fail = unique_fail,     \
                           .again = unique_again,   \
                           .shares = true,          \
                           .answer_lost = unique_answer_lost }

UNIQUE_OP(op_add_unique, "add_unique", COMMIT_ORDINARY);
UNIQUE_OP(op_unique_replicated, "add_unique_replicated", COMMIT_REPLICATED);

/* ---- expired keys ---- */

static void add_unique_prune_encode(struct params *p, struct task *t) {
    (void)t;
    params_set_time(p, 0, clock_db());
    params_set_int4(p, 1, PRUNE_LIMIT);
}

struct op op_prune_keys = {
    .name = "prune_keys",
    .stmt = SQL_PRUNE_KEYS,
    .conn = CONN_READ,
    .alone = true,
    .encode = add_unique_prune_encode,
};

void add_unique_prune(void) {
    static struct task prune = { .op = &op_prune_keys, .rows = 1 };

    if (prune.state == TASK_IDLE)
        batch_add(&prune);
}
