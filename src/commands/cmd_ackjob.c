/* ACKJOB FASTACK DELJOB: deletes or retains jobs. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/node.h"
#include "base/stats.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "jobs/dead_jobs.h"
#include "jobs/flows.h"
#include "jobs/id_list.h"
#include "jobs/job.h"
#include "jobs/retained.h"
#include "jobs/row_places.h"
#include "net/args.h"
#include "net/worker.h"
#include "queue/queue.h"
#include "queue/settings.h"

/* Arguments of the retain_jobs statement. */
struct retain {
    struct slice result; /* ptr NULL: none */
    char worker[WORKER_NAME_MAX + 1];
};

static const struct slice no_result = { NULL, 0 };

static struct retain *retain_of(const struct req *r) {
    return job_ids(r)->own;
}

/* ---- jobs that are not retained ---- */

/* A request of the server itself has no command. */
static enum job_exit exit_of(const struct req *r) {
    return r->cmd == NULL || r->cmd->handler == cmd_deljob ? JOB_DELETED : JOB_DONE;
}

/* A job that the first try retained looks like a job that the second try retained. retained_look_again() counts
 * both. */
static void acked(struct task *t, const PGresult *rows, int row, bool kept, int group_col, int flow_col) {
    struct req *r = REQ_OF_TASK(t);
    struct job_key key = job_ids_key(t, rows, row);
    const struct retain *f = retain_of(r);

    if (job_ids_note_stale(t, rows, row, COL_ACK_JOBS_QUEUED_SINCE))
        return;
    job_ids(r)->hits += !(kept && job_ids(r)->unknown);
    stats.jobs_kept += kept;
    job_left(&(struct job_row){ .key = key,
                                .queued_since = row_time(rows, row, COL_ACK_JOBS_QUEUED_SINCE),
                                .id = job_ids_text(t, rows, row),
                                .group = row_bytes_or_null(rows, row, group_col),
                                .in_flow = !row_null(rows, row, flow_col),
                                .result = f != NULL ? f->result : no_result },
             kept ? JOB_KEPT : exit_of(r));
}

static void ack_begin(struct params *p) {
    params_set_time(p, 3, clock_db());
}

/* Columns: ordinal, queued_since, group_key, in_flow. */
static void ack_row(struct task *t, const PGresult *rows, int row) {
    acked(t, rows, row, false, COL_ACK_JOBS_GROUP_KEY, COL_ACK_JOBS_IN_FLOW);
}

/* Rows that were not found at their places may have moved: the task is sent again, by the keys. Jobs that were not found
 * then may be dead letters. */
static void ack_end(struct task *t, const PGresult *rows) {
    struct job_ids *ids = job_ids(REQ_OF_TASK(t));
    bool has_places = ids->places != NULL;

    (void)rows;
    ids->places = NULL;
    if (has_places && ids->hits < (int64_t)ids->count) {
        batch_add(t);
        return;
    }
    job_ids_settle(REQ_OF_TASK(t));
    dead_delete_or_reply(REQ_OF_TASK(t));
}

static void ack_encode(struct params *p, struct task *t) {
    job_ids(REQ_OF_TASK(t))->places = NULL;
    job_ids_encode(p, t);
}

/* If an earlier transaction has acknowledged some of the jobs, the reply counts them. */
static void ack_fail(struct task *t, const struct op_error *err) {
    struct req *r = REQ_OF_TASK(t);

    if (job_ids(r)->hits == 0) {
        job_ids_fail(t, err);
        return;
    }
    job_ids_unhold(r);
    req_int(r, job_ids(r)->hits);
}

/* ---- jobs whose rows are at known places ---- */

/* The most IDs of a command whose places are looked up. */
#define PLACES_MOST 1000

static uint64_t *places_or_null(struct req *r) {
    struct job_ids *ids = job_ids(r);
    uint64_t *places;

    if (ids->count > PLACES_MOST)
        return NULL;
    places = req_alloc(r, ids->count * sizeof *places);
    for (size_t i = 0; i < ids->count; i++)
        if ((places[i] = row_places_take(ids->keys[i].id)) == ROW_PLACE_NONE)
            return NULL;
    return places;
}

static bool ack_has_places(const struct task *t, struct op_shape *shape) {
    *shape = (struct op_shape){ SQL_ACK_PLACES, 0, 0 };
    return job_ids(REQ_OF_TASK(t))->places != NULL;
}

static void ack_places_begin(struct params *p, struct task *first) {
    (void)first;
    params_set_time(p, 4, clock_db());
}

static void ack_places_encode(struct params *p, struct task *t) {
    const struct job_ids *ids = job_ids(REQ_OF_TASK(t));

    job_ids_encode(p, t);
    for (size_t i = 0; i < ids->count; i++)
        params_place(p, 3, ids->places[i]);
}

static const struct op_alike ack_alike = {
    .is_for_all = true,
    .shape = ack_has_places,
    .begin = ack_places_begin,
    .encode = ack_places_encode,
};

OPERATION(ack_jobs, .names_jobs = true, .begin = ack_begin, .encode = ack_encode, .on_row = ack_row,
          .on_end = ack_end, .fail = ack_fail, .again = job_ids_again, .shares = true,
          .answer_lost = job_ids_removed, .alike = &ack_alike);

/* Columns: those of ack_jobs, then is_waiting. */
static void deljob_row(struct task *t, const PGresult *rows, int row) {
    if (row_null(rows, row, COL_DELETE_JOBS_IS_WAITING)) {
        ack_row(t, rows, row);
        return;
    }
    job_ids(REQ_OF_TASK(t))->hits++;
    flow_job_ended(job_ids_key(t, rows, row).id);
}

OPERATION(delete_jobs, .names_jobs = true, .begin = ack_begin, .encode = job_ids_encode, .on_row = deljob_row,
          .on_end = ack_end, .fail = job_ids_fail, .again = job_ids_again, .shares = true,
          .answer_lost = job_ids_removed);

static void ack_tokens_begin(struct params *p) {
    params_set_time(p, 4, clock_db());
}

static void ack_tokens_encode(struct params *p, struct task *t) {
    job_ids_encode(p, t);
    job_ids_encode_tokens(p, 3, t);
}

OPERATION(ack_tokens, .names_jobs = true, .begin = ack_tokens_begin, .encode = ack_tokens_encode,
          .on_row = ack_row, .on_end = ack_end, .fail = job_ids_fail, .again = job_ids_again, .shares = true,
          .answer_lost = job_ids_removed);

/* ---- jobs that may be retained ---- */

static void retain_begin(struct params *p) {
    params_set_time(p, 7, clock_db());
    params_set_int2(p, 8, (int16_t)node_self()->number);
}

/* If the queue is not known here, the statement reads its retention. */
static void encode_retention(struct params *p, const struct req *r, int32_t queue_id) {
    const struct queue *q = queue_find_id(queue_id);

    if (exit_of(r) == JOB_DELETED)
        params_int4(p, 4, 0);
    else if (q != NULL)
        params_int4(p, 4, (int32_t)setting_in_force(q, SETTING_RETENTION));
    else
        params_null(p, 4, PARAM_INT4);
}

static void retain_encode(struct params *p, struct task *t) {
    const struct req *r = REQ_OF_TASK(t);
    struct retain *f = retain_of(r);

    job_ids_encode(p, t);
    job_ids_encode_tokens(p, 3, t);
    for (size_t i = 0; i < job_ids(r)->count; i++) {
        encode_retention(p, r, job_ids(r)->keys[i].queue_id);
        params_bytea_or_null(p, 5, exit_of(r) == JOB_DELETED ? no_result : slice_str(f->worker));
        params_bytea_or_null(p, 6, f->result);
    }
    if (!job_ids(r)->unknown)
        job_ids(r)->sent_us = clock_db();
}

/* Columns: ordinal, queued_since, is_kept, group_key, in_flow. */
static void retain_row(struct task *t, const PGresult *rows, int row) {
    acked(t, rows, row, row_bool(rows, row, COL_RETAIN_JOBS_IS_KEPT), COL_RETAIN_JOBS_GROUP_KEY,
          COL_RETAIN_JOBS_IN_FLOW);
}

/* DELJOB: jobs that were not found may wait for other jobs. */
static void delete_rest(struct req *r) {
    r->task.op = &op_delete_jobs;
    batch_add(&r->task);
}

static void retain_end(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);

    if (exit_of(r) == JOB_DELETED && (size_t)job_ids(r)->hits < job_ids(r)->count)
        delete_rest(r);
    else if (job_ids(r)->unknown)
        retained_look_again(r);
    else
        ack_end(t, rows);
}

/* op.answer_lost: the transaction was committed. */
static void retain_lost(struct task *t) {
    struct req *r = REQ_OF_TASK(t);

    job_ids(r)->unknown = true;
    if (exit_of(r) == JOB_DELETED)
        delete_rest(r);
    else
        retained_look_again(r);
}

OPERATION(retain_jobs, .names_jobs = true, .begin = retain_begin, .encode = retain_encode,
          .on_row = retain_row, .on_end = retain_end, .fail = job_ids_fail, .again = job_ids_again,
          .shares = true, .answer_lost = retain_lost);

/* The statement fails if a job is missing, and with it the client transaction. */
OPERATION(retain_required, .names_jobs = true, .begin = retain_begin, .encode = retain_encode,
          .on_row = retain_row, .on_end = retain_end, .fail = job_ids_fail, .again = job_ids_again,
          .shares = true, .answer_lost = retain_lost);

/* ---- commands ---- */

static bool may_be_kept(const struct req *r) {
    for (size_t i = 0; i < job_ids(r)->count; i++) {
        const struct queue *q = queue_find_id(job_ids(r)->keys[i].queue_id);

        if (q == NULL || setting_of(q, SETTING_RETENTION) > 0)
            return true;
    }
    return false;
}

static void take_long_way(struct req *r, struct slice result) {
    struct retain *f = req_alloc(r, sizeof *f);

    f->result = result;
    if (r->client != NULL)
        snprintf(f->worker, sizeof f->worker, "%s", worker_name(worker_of(r->client)));
    job_ids(r)->own = f;
    r->task.bytes += job_ids(r)->count * (result.len + strlen(f->worker));
}

/* DELJOB. In a client transaction no statement may follow the commit, and its commands run in their order. */
static bool deletes_at_once(const struct req *r) {
    return exit_of(r) == JOB_DELETED && (req_in_txn(r) || !may_be_kept(r));
}

static struct op *ack_op(struct req *r, struct slice result) {
    if (deletes_at_once(r))
        return &op_delete_jobs;
    if (result.ptr == NULL && !may_be_kept(r))
        return job_ids(r)->tokens == NULL ? &op_ack_jobs : &op_ack_tokens;
    take_long_way(r, result);
    return &op_retain_jobs;
}

/* The IDs of r have been parsed. All requests about jobs of a queue with retention use the same statement, so
 * that they run in their order. */
static void ackjob_start(struct req *r, struct slice result) {
    struct op *op;

    if (job_ids(r)->count == 0) {
        req_int(r, 0);
        return;
    }
    op = ack_op(r, result);
    if (op == &op_ack_jobs && !req_in_txn(r))
        job_ids(r)->places = places_or_null(r);
    job_ids_send(r, op);
}

/* REQUIRED: the ids in argv[from ..). An ID that names no job here is left out of job_ids(). */
static void ackjob_start_required(struct req *r, int from, struct slice result) {
    if (!req_in_txn(r)) {
        req_error(r, "ERR REQUIRED is for an ACKJOB in a transaction: it makes EXEC fail");
        return;
    }
    if (from == r->argc) {
        usage_error(r, SYNTAX_ERROR ": REQUIRED needs an id");
        return;
    }
    if (!job_ids_tokens_or_reply(r, from, r->argc))
        return;
    if (job_ids(r)->count < (size_t)(r->argc - from)) {
        req_error(r, "%s", NOT_ACKED);
        return;
    }
    take_long_way(r, result);
    job_ids_send(r, &op_retain_required);
}

void cmd_ackjob(struct req *r) {
    bool has_result = r->argc > 1 && slice_is(r->argv[1], "RESULT");
    struct slice result = has_result && r->argc > 2 ? r->argv[2] : no_result;
    int from = has_result ? 3 : 1;

    if (has_result && r->argc < 4)
        usage_error(r, SYNTAX_ERROR ": RESULT needs a value and an id");
    else if (from < r->argc && slice_is(r->argv[from], "REQUIRED"))
        ackjob_start_required(r, from + 1, result);
    else if (job_ids_tokens_or_reply(r, from, r->argc))
        ackjob_start(r, result);
}

void cmd_fastack(struct req *r) {
    if (job_ids_tokens_or_reply(r, 1, r->argc))
        ackjob_start(r, no_result);
}

void cmd_deljob(struct req *r) {
    if (job_ids_or_reply(r, 1, r->argc))
        ackjob_start(r, no_result);
}
