/* BATCH PREDECESSORS: batches of jobs, and the results of the jobs that a job has waited for. */
#include "base/clock.h"
#include "base/node.h"
#include "batch/batch.h"
#include "batch/commit_marker.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "commands/subcommand.h"
#include "jobs/add_options.h"
#include "jobs/flows.h"
#include "jobs/id_list.h"
#include "net/args.h"
#include "net/connection.h"
#include "queue/delivery.h"
#include "queue/queue.h"
#include "queue/queue_rights.h"
#include "queue/queue_store.h"
#include "queue/settings.h"

/* The limit is in sql/parts/may_nest.sql. */
#define TOO_DEEP "LIMIT batches are nested in at most 16 levels"

static const char *const outcome_names[] = { NULL, "done", "dead", "cancelled", "expired" };

static void batch_reply_id(struct req *r, struct job_key key, int64_t expires_at, int32_t retry) {
    char id[JOBID_LEN];

    job_format_id(id, key, expires_at, retry);
    reply_bulk(r, (struct slice){ id, sizeof id });
}

/* Completion and failure jobs live without end. */
static int64_t batch_expires_at(int64_t id) {
    return job_created_us(id) + LIST_TTL * US_PER_S;
}

/* ---- NEW ---- */

struct batch_new {
    struct slice complete; /* ptr NULL: no completion job */
    struct slice failure;
    struct slice parent;
    struct req *req;
    struct queue *q;
    struct row_waiter row_waiter;
    int64_t parent_id;
    int64_t id; /* 0: not sent yet */
    int64_t failure_id;
    int32_t retry;
};

static const struct arg_option batch_new_options[] = {
    { "COMPLETE", ARG_BYTES, offsetof(struct batch_new, complete), 0, INT32_MAX, NULL },
    { "FAILURE", ARG_BYTES, offsetof(struct batch_new, failure), 0, INT32_MAX, NULL },
    { "BATCH", ARG_BYTES, offsetof(struct batch_new, parent), 0, INT32_MAX, NULL },
};

static const struct arg_spec batch_new_spec = { batch_new_options, LENGTH(batch_new_options), NULL, NULL,
                                                NULL };

static void on_batch_queue_open(struct task *t) {
    batch_add(t);
}

static void batch_new_fail(struct task *t, const struct op_error *err) {
    ((struct batch_new *)REQ_OF_TASK(t)->data)->q->users--;
    req_fail_task(t, err);
}

static bool batch_parent_or_reply(struct req *r, struct batch_new *b) {
    struct job_key key;

    if (b->parent.ptr == NULL)
        return true;
    if (!flow_id_or_reply(r, b->parent, NO_BATCH, &key))
        return false;
    b->parent_id = key.id;
    return true;
}

static void batch_new(struct req *r) {
    struct batch_new *b = req_alloc(r, sizeof *b);
    int end;

    if (!args_parse_or_reply(r, 3, &batch_new_spec, b, &end) ||
        !args_fit_or_reply(r, "the name of a queue", r->argv[2], NAME_MAX_BYTES) ||
        !queue_rights_allow_or_reply(r, ACL_WRITE, r->argv[2]) || !batch_parent_or_reply(r, b) ||
        !args_queue_or_reply(r, r->argv[2]))
        return;
    b->req = r;
    b->q = queue_use(queue_find(r->argv[2]), r->argv[2]);
    b->retry = (int32_t)setting_of(b->q, SETTING_RETRY);
    if (b->retry < 0)
        b->retry = (int32_t)setting_default_retry(LIST_TTL);
    b->q->users++;
    r->data = b;
    r->task.op = &op_open_batch;
    r->task.rows = 1;
    r->task.bytes = b->complete.len + b->failure.len;
    row_waiter_init(&b->row_waiter, &r->task, on_batch_queue_open, batch_new_fail);
    queue_prepare(b->q, &b->row_waiter);
}

static void batch_set_bytes_or_null(struct params *p, int col, struct slice value) {
    if (value.ptr == NULL)
        params_set_null(p, col);
    else
        params_set_bytea(p, col, value);
}

static void batch_new_encode(struct params *p, struct task *t) {
    struct batch_new *b = REQ_OF_TASK(t)->data;

    if (b->id == 0) {
        b->id = job_new_id(clock_db(), node_self()->number);
        b->failure_id = job_new_id(clock_db(), node_self()->number);
    }
    params_set_int8(p, 0, b->id);
    params_set_time(p, 1, batch_expires_at(b->id));
    params_set_int4(p, 2, b->q->id);
    params_set_int4(p, 3, b->retry);
    batch_set_bytes_or_null(p, 4, b->complete);
    params_set_int8(p, 5, b->failure_id);
    batch_set_bytes_or_null(p, 6, b->failure);
    params_set_int8(p, 7, b->parent_id);
}

static void batch_new_end(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);
    struct batch_new *b = r->data;

    b->q->users--;
    if (!row_bool(rows, 0, COL_OPEN_BATCH_IS_OPEN)) {
        req_error(r, "%s", row_bool(rows, 0, COL_OPEN_BATCH_IS_TOO_DEEP) ? TOO_DEEP : NO_BATCH);
        return;
    }
    batch_reply_id(r, (struct job_key){ b->q->id, 0, b->id }, batch_expires_at(b->id), b->retry);
    req_end(r);
}

OPERATION(open_batch, .alone = true, .encode = batch_new_encode, .on_end = batch_new_end,
          .fail = batch_new_fail);

/* ---- CLOSE, SHOW, PREDECESSORS ---- */

/* Sends a task of op about the job argv[at]. unknown: replies to an ID that names no job the user may read about. */
static void batch_send_id(struct req *r, int at, struct op *op, void (*unknown)(struct req *r)) {
    if (!job_ids_or_reply(r, at, at + 1))
        return;
    if (job_ids(r)->count > 0) {
        batch_add_row(&r->task, op);
        return;
    }
    unknown(r);
    req_end(r);
}

static void batch_id_encode(struct params *p, struct task *t) {
    params_set_int8(p, 0, job_ids(REQ_OF_TASK(t))->keys[0].id);
}

static void batch_reply_zero(struct req *r) {
    reply_int(r, 0);
}

static void batch_close_encode(struct params *p, struct task *t) {
    batch_id_encode(p, t);
    commit_marker_always(t);
}

static void batch_close(struct req *r) {
    batch_send_id(r, 2, &op_close_batch, batch_reply_zero);
}

static void batch_close_end(struct task *t, const PGresult *rows) {
    bool was_open = PQntuples(rows) > 0 && row_bool(rows, 0, COL_CLOSE_BATCH_WAS_OPEN);

    if (was_open)
        flow_batch_closed(row_int8(rows, 0, COL_CLOSE_BATCH_ID));
    req_int(REQ_OF_TASK(t), was_open);
}

/* After a lost result, the search for completed batches (stuck_batches) completes the batch. */
OPERATION(close_batch, .alone = true, .encode = batch_close_encode, .on_end = batch_close_end,
          .fail = req_fail_task, .again = req_again_if_undone, .answer_lost = req_answer_lost_task);

static void batch_show(struct req *r) {
    batch_send_id(r, 2, &op_show_batch, reply_null_bulk);
}

static void batch_pair_int(struct req *r, const char *name, int64_t value) {
    reply_bulk_str(r, name);
    reply_int(r, value);
}

static void batch_pair_time(struct req *r, const char *name, const PGresult *rows, int col) {
    reply_bulk_str(r, name);
    if (row_null(rows, 0, col))
        reply_null_bulk(r);
    else
        reply_int(r, row_time(rows, 0, col) / US_PER_S);
}

static void batch_reply_row(struct req *r, const PGresult *rows) {
    struct job_key key = row_full_key(rows, 0, COL_SHOW_BATCH_QUEUE_ID);
    struct queue *q = queue_find_id(key.queue_id);
    int64_t total = row_int8(rows, 0, COL_SHOW_BATCH_TOTAL), done = row_int8(rows, 0, COL_SHOW_BATCH_DONE);
    int64_t failed = row_int8(rows, 0, COL_SHOW_BATCH_FAILED);
    int64_t cancelled = row_int8(rows, 0, COL_SHOW_BATCH_CANCELLED);
    bool closed = !row_null(rows, 0, COL_SHOW_BATCH_CLOSED_AT);
    bool complete = !row_null(rows, 0, COL_SHOW_BATCH_COMPLETED_AT);

    reply_map(r, 13);
    reply_bulk_str(r, "id");
    batch_reply_id(r, key, batch_expires_at(key.id), row_int4(rows, 0, COL_SHOW_BATCH_RETRY));
    reply_bulk_str(r, "queue");
    reply_bulk(r, q != NULL ? q->name : (struct slice){ "", 0 });
    reply_bulk_str(r, "state");
    reply_bulk_str(r, complete ? "complete" : closed ? "closed" : "open");
    batch_pair_int(r, "total", total);
    batch_pair_int(r, "pending", total - done - failed - cancelled);
    batch_pair_int(r, "done", done);
    batch_pair_int(r, "failed", failed);
    batch_pair_int(r, "cancelled", cancelled);
    batch_pair_time(r, "created-at", rows, COL_SHOW_BATCH_CREATED_AT);
    batch_pair_time(r, "closed-at", rows, COL_SHOW_BATCH_CLOSED_AT);
    batch_pair_time(r, "failed-at", rows, COL_SHOW_BATCH_FAILED_AT);
    batch_pair_time(r, "completed-at", rows, COL_SHOW_BATCH_COMPLETED_AT);
    reply_bulk_str(r, "parent");
    if (row_null(rows, 0, COL_SHOW_BATCH_PARENT_ID)) {
        reply_null_bulk(r);
        return;
    }
    key = row_full_key(rows, 0, COL_SHOW_BATCH_PARENT_QUEUE_ID);
    batch_reply_id(r, key, batch_expires_at(key.id), row_int4(rows, 0, COL_SHOW_BATCH_PARENT_RETRY));
}

static void batch_show_end(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);

    if (PQntuples(rows) > 0)
        batch_reply_row(r, rows);
    else
        reply_null_bulk(r);
    req_end(r);
}

OPERATION(show_batch, .alone = true, .encode = batch_id_encode, .on_end = batch_show_end,
          .fail = req_fail_task);

static void predecessors_reply_none(struct req *r) {
    reply_array(r, 0);
}

void cmd_predecessors(struct req *r) {
    batch_send_id(r, 1, &op_show_predecessors, predecessors_reply_none);
}

static void predecessor_reply(struct req *r, const PGresult *rows, int row) {
    reply_array(r, 3);
    batch_reply_id(r, row_full_key(rows, row, COL_SHOW_PREDECESSORS_QUEUE_ID),
                   row_time(rows, row, COL_SHOW_PREDECESSORS_EXPIRES_AT),
                   row_int4(rows, row, COL_SHOW_PREDECESSORS_RETRY));
    if (row_null(rows, row, COL_SHOW_PREDECESSORS_OUTCOME))
        reply_bulk_str(r, "pending");
    else
        reply_bulk_str(r, outcome_names[row_int2(rows, row, COL_SHOW_PREDECESSORS_OUTCOME)]);
    if (row_null(rows, row, COL_SHOW_PREDECESSORS_RESULT))
        reply_null_bulk(r);
    else
        reply_bulk(r, row_bytes(rows, row, COL_SHOW_PREDECESSORS_RESULT));
}

/* A predecessor in a queue that the user may not read is left out. */
static bool predecessor_is_shown(const struct req *r, const PGresult *rows, int row) {
    return queue_rights_cover_id(r, row_int4(rows, row, COL_SHOW_PREDECESSORS_QUEUE_ID));
}

static void predecessors_end(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);
    size_t count = 0;

    for (int i = 0; i < PQntuples(rows); i++)
        count += predecessor_is_shown(r, rows, i);
    reply_array(r, count);
    for (int i = 0; i < PQntuples(rows); i++) {
        if (predecessor_is_shown(r, rows, i))
            predecessor_reply(r, rows, i);
    }
    req_end(r);
}

OPERATION(show_predecessors, .alone = true, .encode = batch_id_encode, .on_end = predecessors_end,
          .fail = req_fail_task);

void cmd_batch(struct req *r) {
    static const struct subcommand table[] = {
        { "NEW", 1, -1, batch_new },
        { "CLOSE", 1, 1, batch_close },
        { "SHOW", 1, 1, batch_show },
    };

    subcommand_run(r, table, LENGTH(table));
}
