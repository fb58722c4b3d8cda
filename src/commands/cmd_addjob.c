/* ADDJOB: checks the options, makes the ID, inserts the job in a batch, and hands it off to a waiter. */
#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "base/node.h"
#include "base/stats.h"
#include "base/timer.h"
#include "batch/batch.h"
#include "batch/client_txn.h"
#include "batch/commit_marker.h"
#include "batch/operations.h"
#include "batch/replication_state.h"
#include "commands/dispatch.h"
#include "jobs/add.h"
#include "jobs/id_list.h"
#include "jobs/job.h"
#include "jobs/undelivered.h"
#include "net/args.h"
#include "net/connection.h"
#include "queue/queue.h"
#include "queue/queue_store.h"
#include "queue/settings.h"
#include "queue/waiters.h"

/* About the bytes of a row without the body. */
#define ROW_BYTES 120

#define NOREPL_TIMEOUT "NOREPL Timeout reached before replicating to the requested number of nodes"

/* True if the job enters the queue later, because of DELAY or because of its group. */
static bool addjob_is_delayed(const struct add *a) {
    return a->opt.delay > 0 || addjob_has_group(&a->opt);
}

static void addjob_give_up(struct timer *t);

/* ---- start ---- */

/* REPLICATE wins over ASYNC. A unique job ignores ASYNC, because its ID may be replied to other clients that
 * did not ask for ASYNC. */
static struct op *addjob_op_of(const struct req *r, const struct add_options *o) {
    if (o->unique.ptr != NULL)
        return o->replicate > 1 ? &op_unique_replicated : &op_add_unique;
    if (addjob_has_group(o))
        return o->replicate > 1 ? &op_missing_replicated : &op_add_missing;
    if (o->replicate > 1)
        return &op_add_replicated;
    if (o->async)
        return &op_add_async;
    return r->large && r->task.client_txn == NULL ? &op_add_large : &op_add_jobs;
}

/* True for jobs that expire in the order of their keys, so that they need no wake_at. */
static bool addjob_is_plain(const struct add_options *o) {
    return o->delay == 0 && o->ttl == JOB_DEFAULT_TTL && o->priority == 0;
}

struct job_key addjob_key(const struct queue *q, const struct add_options *o, int64_t now) {
    return (struct job_key){ q->id, (int16_t)-o->priority, job_new_id(now, node_self()->number) };
}

struct job_times addjob_times(const struct add_options *o, int64_t id, int64_t now) {
    struct job_times at = {
        .ready_at = now + o->delay * US_PER_S,
        .expires_at = job_created_us(id) + o->ttl * US_PER_S,
        .wake_at = TIME_NEVER,
    };

    if (!addjob_is_plain(o))
        at.wake_at = o->delay > 0 ? at.ready_at : at.expires_at;
    return at;
}

static void make_key(struct add *a) {
    int64_t now = clock_db();

    a->key = addjob_key(a->q, &a->opt, now);
    a->at = addjob_times(&a->opt, a->key.id, now);
}

static void addjob_enter(struct add *a) {
    make_key(a);
    a->req->task.op = addjob_op_of(a->req, &a->opt);
    if (a->req->task.client_txn != NULL)
        a->req->task.client_txn->ahead |= a->key.rank != 0;
    batch_add(&a->req->task);
}

static void on_addjob_open(struct row_waiter *p, struct queue *q) {
    (void)q;
    addjob_enter(CONTAINER_OF(p, struct add, row_waiter));
}

void add_left(struct add *a) {
    timer_stop(&a->timeout);
    a->q->users--;
    if (!addjob_is_delayed(a))
        a->q->adds.accepted--;
}

static void on_addjob_open_failed(struct row_waiter *p, const struct op_error *err) {
    struct add *a = CONTAINER_OF(p, struct add, row_waiter);

    add_left(a);
    req_db_error(a->req, err);
}

static void addjob_start(struct req *r, const struct add_options *opt, int64_t timeout_ms, struct queue *q) {
    struct add *a = req_alloc(r, sizeof *a);

    r->data = a;
    r->task.rows = 1;
    r->task.bytes = r->argv[2].len + opt->unique.len + opt->deadqueue.len + opt->group.len + ROW_BYTES;
    *a = (struct add){
        .req = r, .q = q, .opt = *opt, .row_waiter = { .go = on_addjob_open, .fail = on_addjob_open_failed }
    };
    addjob_keep(r, &a->opt);
    list_init(&a->row_waiter.node);
    /* In a client transaction ms-timeout has no effect, because a job cannot be withdrawn from it. */
    if (timeout_ms > 0 && r->task.client_txn == NULL)
        timer_set(&a->timeout, clock_mono() + at_most(timeout_ms, INT32_MAX) * US_PER_MS, addjob_give_up);
    queue_note_body(q, r->argv[2].len);
    q->users++;
    if (!addjob_is_delayed(a))
        q->adds.accepted++;
    if (queue_is_open(q))
        addjob_enter(a);
    else
        queue_wait_for_row(q, &a->row_waiter);
}

void cmd_addjob(struct req *r) {
    struct add_options opt = ADD_OPTIONS_UNSAID;
    const char *refusal;
    struct queue *q;
    int64_t timeout_ms;
    int end;

    if (args_is_option(&addjob_spec, r->argv[3])) {
        usage_error(r, SYNTAX_ERROR ": ms-timeout is missing before %.*s", (int)r->argv[3].len,
                    r->argv[3].ptr);
        return;
    }
    if (!args_parse_or_reply(r, 4, &addjob_spec, &opt, &end) || !args_timeout_or_reply(r, 3, &timeout_ms))
        return;
    addjob_settle(&opt, queue_find(r->argv[1]));
    refusal = addjob_conflict(&opt, r->argv[1]);
    if (refusal != NULL) {
        req_error(r, "%s", refusal);
        return;
    }
    q = queue_get(r->argv[1]);
    refusal = addjob_refusal(q, &opt);
    if (refusal != NULL)
        req_error(r, "%s", refusal);
    else
        addjob_start(r, &opt, timeout_ms, q);
}

/* ---- statement ---- */

static bool addjob_is_apart(const struct add *a) {
    return a->req->task.op == &op_add_large;
}

/* Finds a waiting GETJOB, to which the insert leases the job. NULL for a unique job, because its insert may add
 * nothing. */
static struct get *addjob_find_taker(const struct add *a) {
    struct get *g;

    if (addjob_is_delayed(a) || a->given_up || add_is_unique(a) || a->req->task.client_txn != NULL ||
        addjob_is_apart(a))
        return NULL;
    g = get_find_taker(a->q);
    return g != NULL && g->kind == NULL ? g : NULL;
}

static int64_t backoff_us(const struct add *a) {
    return a->opt.attempts == 1 ? 0 : job_backoff_us(a->key.id, a->opt.backoff, 1);
}

static int64_t addjob_lease_end(const struct add *a) {
    return a->opt.retry == 0 ? TIME_NEVER : clock_db() + a->opt.retry * US_PER_S + backoff_us(a);
}

static void encode_times(struct params *p, const struct add *a) {
    params_time(p, 1, addjob_has_group(&a->opt) ? TIME_NEVER : a->to != NULL ? a->until : a->at.ready_at);
    params_time(p, 2, a->at.expires_at);
    if (a->at.wake_at == TIME_NEVER)
        params_null(p, 3, PARAM_TIME);
    else
        params_time(p, 3, a->at.wake_at);
}

static void give_to(struct add *a, struct get *g) {
    get_claim(g);
    g->pending++;
    a->to = g;
}

/* Decides once for each transaction which waiter gets the job. True if a waiter gets it. The lease begins
 * when the transaction is built. */
static bool hand(struct add *a) {
    struct get *g;

    if (a->to == NULL && !a->unhanded && !a->again && (g = addjob_find_taker(a)) != NULL)
        give_to(a, g);
    if (a->to == NULL && !a->unhanded && !addjob_is_delayed(a)) {
        a->unhanded = true;
        a->q->adds.sent++;
    }
    if (a->to != NULL)
        a->until = addjob_lease_end(a);
    return a->to != NULL;
}

static void int_or_null(struct params *p, int col, int64_t value) {
    if (value > 0)
        params_int4(p, col, (int32_t)value);
    else
        params_null(p, col, PARAM_INT4);
}

void add_encode_attempts(struct params *p, int col, const struct add_options *o) {
    int_or_null(p, col, o->attempts);
    int_or_null(p, col + 1, o->backoff);
    if (o->deadqueue.ptr != NULL)
        params_bytea(p, col + 2, o->deadqueue);
    else
        params_null(p, col + 2, PARAM_BYTEA);
}

void add_encode(struct params *p, struct task *t) {
    struct add *a = REQ_OF_TASK(t)->data;
    bool handed = hand(a);

    /* The ID is made here, so that IDs follow the order of the commands. Queues may get their rows in any
     * order. */
    if (t->client_txn != NULL)
        make_key(a);
    commit_marker(t);
    params_int8(p, 0, a->key.id);
    encode_times(p, a);
    params_int4(p, 4, a->key.queue_id);
    params_int4(p, 5, (int32_t)a->opt.retry);
    params_int4(p, 6, (int32_t)a->opt.delay);
    params_int2(p, 7, a->key.rank);
    params_int2(p, 8, (int16_t)a->opt.replicate);
    if (handed)
        params_int2(p, 9, (int16_t)node_self()->number);
    else
        params_null(p, 9, PARAM_INT2);
    params_bytea(p, 10, a->req->argv[2]);
    add_encode_attempts(p, 11, &a->opt);
}

/* ---- uniform statement ---- */

/* Jobs for waiters have a shape of their own, with a common end of the leases. */
static bool add_shape(const struct task *t, struct op_shape *shape) {
    const struct add *a = REQ_OF_TASK(t)->data;

    shape->a = (int64_t)a->key.queue_id << 32 | a->opt.retry;
    shape->b = a->key.rank * (INT64_C(1) << 32) + a->opt.replicate * 2 + (a->to != NULL);
    return a->at.wake_at == TIME_NEVER && !addjob_has_attempts(&a->opt);
}

static void addjob_alike_begin(struct params *p, struct task *first) {
    struct add *a = REQ_OF_TASK(first)->data;
    bool handed = hand(a);

    params_set_int4(p, 2, a->key.queue_id);
    params_set_int4(p, 3, (int32_t)a->opt.retry);
    params_set_int2(p, 4, a->key.rank);
    params_set_int2(p, 5, (int16_t)a->opt.replicate);
    params_set_time(p, 6, handed ? a->until : a->at.ready_at);
    params_set_time(p, 7, job_created_us(0) + JOB_DEFAULT_TTL * US_PER_S);
    if (handed)
        params_set_int2(p, 8, (int16_t)node_self()->number);
    else
        params_set_null(p, 8);
}

/* Called in the order of the commands, whatever their shapes, because waiters are served in their order. */
static void addjob_alike_decide(struct task *t) {
    (void)hand(REQ_OF_TASK(t)->data);
}

static void addjob_alike_encode(struct params *p, struct task *t) {
    struct add *a = REQ_OF_TASK(t)->data;

    commit_marker(t);
    params_int8(p, 0, a->key.id);
    params_bytea(p, 1, a->req->argv[2]);
}

/* ---- results ---- */

/* Deletes the job by a request of the server itself, whose reply is dropped. */
static void remove_job(struct job_key key) {
    struct req *r = req_new(0, NULL, NULL, req_free);

    job_ids_set(r, key);
    r->task.op = &op_ack_jobs;
    batch_add(&r->task);
}

/* Returns the request that gets the job: a->to, or a request that has waited longer. */
static struct get *addjob_receiver(struct add *a) {
    struct get *older = get_find_older(a->to, a->q);

    a->to->pending--;
    if (older == NULL)
        return a->to;
    get_claim(older);
    get_wait(a->to);
    return older;
}

static void hand_over(struct add *a) {
    struct get *g = addjob_receiver(a);
    struct job job = {
        .q = a->q,
        .key = a->key,
        .ready_at = a->until,
        .lease_us = a->opt.retry * US_PER_S + backoff_us(a),
        .last = a->opt.attempts == 1,
        .expires_at = a->at.expires_at,
        .retry = (int32_t)a->opt.retry,
        .body = a->req->argv[2],
    };

    stats.handoffs++;
    if (g->client != NULL) {
        get_deliver(g, &job, 1);
        return;
    }
    undelivered_release(a->key, a->until, job.last);
    get_wait(g);
}

void add_completed(struct add *a) {
    a->q->adds.sent -= a->unhanded;
    a->unhanded = false;
}

static void missing_encode(struct params *p, struct task *t) {
    const struct add *a = REQ_OF_TASK(t)->data;

    add_encode(p, t);
    if (addjob_has_group(&a->opt))
        params_bytea(p, ADD_PARAMS, a->opt.group);
    else
        params_null(p, ADD_PARAMS, PARAM_BYTEA);
}

void add_committed(struct add *a) {
    if (addjob_is_apart(a))
        queue_note_apart(a->q, a->key, a->req->started_us);
    job_entered(&(struct job_row){ .q = a->q,
                                   .key = a->key,
                                   .delayed = addjob_is_delayed(a),
                                   .leased = a->to != NULL,
                                   .wake_at = a->at.wake_at,
                                   .expires_at = a->at.expires_at,
                                   .retry = (int32_t)a->opt.retry,
                                   .group = a->opt.group },
                JOB_ADDED);
    if (a->to != NULL)
        hand_over(a);
}

void add_reply_id(struct add *a, struct job_key key, int64_t expires_at, int32_t retry) {
    char id[JOBID_LEN + 1];

    job_format_id(id, key, expires_at, retry);
    id[JOBID_LEN] = '\0';
    if (connection_wants_bulk_ids(a->req->client))
        reply_bulk_str(a->req, id);
    else
        reply_status(a->req, id);
}

static void addjob_finish(struct add *a) {
    if (a->given_up)
        remove_job(a->key);
    else
        add_reply_id(a, a->key, a->at.expires_at, (int32_t)a->opt.retry);
    req_end(a->req);
}

static void add_done(struct task **tasks, size_t count, const PGresult *rows) {
    (void)rows;
    for (size_t i = 0; i < count; i++) {
        struct add *a = REQ_OF_TASK(tasks[i])->data;

        add_completed(a);
        add_left(a);
        add_committed(a);
        addjob_finish(a);
    }
}

/* rows has the IDs of the jobs inserted now, in their order. The other jobs existed already, and bootstrap.c
 * counts them. */
static void add_missing_done(struct task **tasks, size_t count, const PGresult *rows) {
    int next = 0;

    for (size_t i = 0; i < count; i++) {
        struct add *a = REQ_OF_TASK(tasks[i])->data;

        add_completed(a);
        add_left(a);
        if (next < PQntuples(rows) && row_int8(rows, next, COL_ADD_MISSING_ID) == a->key.id) {
            next++;
            add_committed(a);
        }
        addjob_finish(a);
    }
}

/* The waiter that was to get the job waits again, at its old position. */
static void withdraw(struct add *a) {
    struct get *g = a->to;

    add_completed(a);
    a->to = NULL;
    if (g != NULL && --g->pending == 0)
        get_wait(g);
}

void add_fail(struct task *t, const struct op_error *err) {
    struct add *a = REQ_OF_TASK(t)->data;

    withdraw(a);
    add_left(a);
    req_db_error(a->req, err);
}

/* Sends the statement that inserts the job only if it is missing. */
static void make_again(struct task *t) {
    ((struct add *)REQ_OF_TASK(t)->data)->again = true;
    t->op = t->op->commit == COMMIT_REPLICATED ? &op_missing_replicated : &op_add_missing;
}

/* After a lost transaction without a commit marker, inserts the job if it is missing. */
static bool add_again(struct task *t, bool unknown) {
    withdraw(REQ_OF_TASK(t)->data);
    if (unknown)
        make_again(t);
    return true;
}

/* bootstrap.c has counted the job and has given back its lease. */
void add_answer_lost(struct task *t) {
    struct add *a = REQ_OF_TASK(t)->data;

    add_completed(a);
    add_left(a);
    addjob_finish(a);
}

static const struct op_alike add_alike = {
    .stmt = SQL_ADD_JOBS_ALIKE,
    .shape = add_shape,
    .begin = addjob_alike_begin,
    .decide = addjob_alike_decide,
    .encode = addjob_alike_encode,
    .done = add_done,
};

#define ADD_OP(variable, text, how, ...)                   \
    struct op variable = { .name = text,                   \
                           .stmt = SQL_ADD_JOBS,           \
                           .conn = CONN_WRITE,             \
                           .commit = how,                  \
                           .alike = &add_alike,            \
                           .encode = add_encode,           \
                           .done = add_done,               \
                           .fail = add_fail,               \
                           .again = add_again,             \
                           .shares = true,                 \
                           .answer_lost = add_answer_lost, \
                           __VA_ARGS__ }

ADD_OP(op_add_jobs, "add_jobs", COMMIT_ORDINARY, .splittable = true);
struct op op_add_large = {
    .name = "add_large",
    .stmt = SQL_ADD_JOBS,
    .conn = CONN_LARGE,
    .encode = add_encode,
    .done = add_done,
    .fail = add_fail,
    .again = add_again,
    .answer_lost = add_answer_lost,
};
ADD_OP(op_add_async, "add_async", COMMIT_ASYNC, .splittable = false);
ADD_OP(op_add_replicated, "add_replicated", COMMIT_REPLICATED, .splittable = false);

#define ADD_MISSING_OP(variable, text, how)          \
    struct op variable = { .name = text,             \
                           .stmt = SQL_ADD_MISSING,  \
                           .conn = CONN_WRITE,       \
                           .commit = how,            \
                           .encode = missing_encode, \
                           .done = add_missing_done, \
                           .fail = add_fail,         \
                           .again = add_again,       \
                           .shares = true,           \
                           .answer_lost = add_answer_lost }

ADD_MISSING_OP(op_add_missing, "add_missing", COMMIT_ORDINARY);
ADD_MISSING_OP(op_missing_replicated, "add_missing_replicated", COMMIT_REPLICATED);

/* ---- ms-timeout ---- */

/* If the insert has been sent, the job cannot be withdrawn. It is deleted after the commit, unless it is
 * unique. */
static void addjob_give_up(struct timer *t) {
    struct add *a = CONTAINER_OF(t, struct add, timeout);
    struct req *r = a->req;

    reply_error(r, "%s", db_disk_is_full() ? DISK_FULL : NOREPL_TIMEOUT);
    if (r->task.state == TASK_SENT || (r->task.state == TASK_QUEUED && a->again)) {
        a->given_up = true;
        client_detach(r);
        return;
    }
    batch_cancel(&r->task);
    list_remove(&a->row_waiter.node);
    add_left(a);
    req_end(r);
}
