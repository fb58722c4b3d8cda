/* BATCH PREDECESSORS: batches of jobs, and the results of the jobs that a job has waited for. */
#include "commands/cmd_batch.h"

#include "base/clock.h"
#include "base/node.h"
#include "base/saturate.h"
#include "batch/batch.h"
#include "batch/commit_marker.h"
#include "batch/operations.h"
#include "commands/cmd_cancel.h"
#include "commands/dispatch.h"
#include "commands/flow_args.h"
#include "commands/subcommand.h"
#include "jobs/add_options.h"
#include "jobs/flows.h"
#include "jobs/id_list.h"
#include "jobs/job_view.h"
#include "net/args.h"
#include "queue/delivery.h"
#include "queue/queue.h"
#include "queue/queue_rights.h"
#include "queue/queue_store.h"
#include "queue/settings.h"

static const char *const outcome_names[] = { NULL, "done", "dead", "cancelled", "expired" };

/* Completion, success and failure jobs live without end. */
static int64_t batch_expires_at(int64_t id) {
    return job_created_us(id) + LIST_TTL * US_PER_S;
}

/* ---- NEW ---- */

/* An open batch is closed after this time, if BATCH NEW gives no TTL. */
#define OPEN_MOST_S (7 * 86400)

struct batch_new {
    struct slice complete; /* ptr NULL: no completion job */
    struct slice success;
    struct slice failure;
    struct slice in; /* the option BATCH */
    int64_t ttl;     /* seconds that it stays open at most */
    struct req *req;
    struct queue *q;
    struct row_waiter row_waiter;
    struct job_ref parent;
    /* The jobs of one queue are delivered in the order of their numbers. 0: not sent yet */
    int64_t failure_id;
    int64_t id;
    int64_t success_id;
    int32_t retry;
};

static const struct arg_option batch_new_options[] = {
    { "COMPLETE", ARG_BYTES, offsetof(struct batch_new, complete), 0, INT32_MAX, NULL },
    { "SUCCESS", ARG_BYTES, offsetof(struct batch_new, success), 0, INT32_MAX, NULL },
    { "FAILURE", ARG_BYTES, offsetof(struct batch_new, failure), 0, INT32_MAX, NULL },
    { "BATCH", ARG_BYTES, offsetof(struct batch_new, in), 0, INT32_MAX, NULL },
    { "TTL", ARG_INT, offsetof(struct batch_new, ttl), 1, INT64_MAX, "ERR TTL must be a number > 0" },
};

static const struct arg_spec batch_new_spec = { batch_new_options, LENGTH(batch_new_options), NULL, NULL,
                                                NULL };

static void batch_new_fail(struct task *t, const struct op_error *err) {
    ((struct batch_new *)REQ_OF_TASK(t)->data)->q->users--;
    req_fail_task(t, err);
}

bool batch_new_ref(const struct req *r, struct job_ref *ref) {
    const struct batch_new *b = r->data;

    if (r->failed || r->task.op != &op_open_batch)
        return false;
    *ref = (struct job_ref){ .id = &b->id, .q = b->q };
    return true;
}

static bool batch_parent_or_reply(struct req *r, struct batch_new *b) {
    if (b->in.ptr == NULL)
        return true;
    if (!flow_batch_or_reply(r, b->in, &b->parent))
        return false;
    if (b->parent.id != NULL || b->parent.key.id != 0)
        return true;
    req_error(r, NO_BATCH);
    return false;
}

static void batch_new(struct req *r) {
    struct batch_new *b = req_alloc(r, sizeof *b);
    int end;

    b->ttl = OPEN_MOST_S;
    if (!args_parse_or_reply(r, 3, &batch_new_spec, b, &end) ||
        !args_fit_or_reply(r, "the name of a queue", r->argv[2], NAME_MAX_BYTES) ||
        !queue_rights_allow_or_reply(r, ACL_WRITE, r->argv[2]) || !batch_parent_or_reply(r, b) ||
        !args_queue_or_reply(r, r->argv[2]))
        return;
    b->req = r;
    b->q = queue_get(r->argv[2]);
    b->retry = (int32_t)setting_of(b->q, SETTING_RETRY);
    if (b->retry < 0)
        b->retry = (int32_t)setting_default_retry(LIST_TTL);
    b->q->users++;
    r->data = b;
    r->task.op = &op_open_batch;
    r->task.rows = 1;
    r->task.bytes = b->complete.len + b->success.len + b->failure.len;
    row_waiter_init(&b->row_waiter, &r->task, NULL, batch_new_fail);
    queue_prepare(b->q, &b->row_waiter);
}

static void batch_new_encode(struct params *p, struct task *t) {
    struct batch_new *b = REQ_OF_TASK(t)->data;

    if (b->id == 0) {
        b->failure_id = job_new_id(clock_db(), node_self()->number);
        b->id = job_new_id(clock_db(), node_self()->number);
        b->success_id = job_new_id(clock_db(), node_self()->number);
    }
    params_set_int8(p, 0, b->id);
    params_set_time(p, 1, batch_expires_at(b->id));
    params_set_int4(p, 2, b->q->id);
    params_set_int4(p, 3, b->retry);
    params_set_bytea_or_null(p, 4, b->complete);
    params_set_int8(p, 5, b->failure_id);
    params_set_bytea_or_null(p, 6, b->failure);
    params_set_int8(p, 7, job_ref_key(&b->parent).id);
    params_set_int8(p, 8, b->success_id);
    params_set_bytea_or_null(p, 9, b->success);
    params_set_time(p, 10, job_created_us(b->id) + int64_least(b->ttl, INT32_MAX) * US_PER_S);
    params_set_bool(p, 11, t->client_txn != NULL);
}

static void batch_new_reply(struct req *r, const struct batch_new *b) {
    job_view_reply_batch(r, (struct job_key){ b->q->id, 0, b->id }, b->retry);
    req_end(r);
}

static void batch_new_end(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);
    struct batch_new *b = r->data;

    b->q->users--;
    if (!row_bool(rows, 0, COL_OPEN_BATCH_IS_OPEN)) {
        req_error(r, "%s", row_bool(rows, 0, COL_OPEN_BATCH_IS_TOO_DEEP) ? TOO_DEEP : NO_BATCH);
        return;
    }
    batch_new_reply(r, b);
}

/* The transaction of a client was committed. */
static void batch_new_answer_lost(struct task *t) {
    struct req *r = REQ_OF_TASK(t);
    struct batch_new *b = r->data;

    b->q->users--;
    batch_new_reply(r, b);
}

OPERATION(open_batch, .alone = true, .encode = batch_new_encode, .on_end = batch_new_end,
          .fail = batch_new_fail, .answer_lost = batch_new_answer_lost);

/* ---- CLOSE, SHOW ---- */

/* Sends a task of op about the batch argv[2], whose struct job_ref is the first field of data. unknown: replies to an ID
 * that names no job the user may read about. */
static void batch_send(struct req *r, struct job_ref *data, struct op *op, void (*unknown)(struct req *r)) {
    r->data = data;
    if (!flow_batch_or_reply(r, r->argv[2], data))
        return;
    if (data->id != NULL || data->key.id != 0) {
        batch_add_row(&r->task, op);
        return;
    }
    unknown(r);
    req_end(r);
}

static void batch_encode(struct params *p, struct task *t) {
    params_set_int8(p, 0, job_ref_key(REQ_OF_TASK(t)->data).id);
}

static void batch_encode_marked(struct params *p, struct task *t) {
    batch_encode(p, t);
    commit_marker_always(t);
}

static void batch_reply_zero(struct req *r) {
    reply_int(r, 0);
}

static void batch_close(struct req *r) {
    batch_send(r, req_alloc(r, sizeof(struct job_ref)), &op_close_batch, batch_reply_zero);
}

static void batch_close_end(struct task *t, const PGresult *rows) {
    bool was_open = PQntuples(rows) > 0 && row_bool(rows, 0, COL_CLOSE_BATCH_WAS_OPEN);

    if (was_open)
        flow_batch_closed(row_int8(rows, 0, COL_CLOSE_BATCH_ID));
    req_int(REQ_OF_TASK(t), was_open);
}

/* After a lost result, the search for completed batches (stuck_batches) completes the batch. */
OPERATION(close_batch, .alone = true, .encode = batch_encode_marked, .on_end = batch_close_end,
          .fail = req_fail_task, .again = req_again_if_undone, .answer_lost = req_answer_lost_task);

static void batch_show(struct req *r) {
    batch_send(r, req_alloc(r, sizeof(struct job_ref)), &op_show_batch, reply_null_bulk);
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

    reply_map(r, 15);
    reply_bulk_str(r, "id");
    job_view_reply_batch(r, key, row_int4(rows, 0, COL_SHOW_BATCH_RETRY));
    reply_bulk_str(r, "queue");
    reply_bulk(r, q != NULL ? q->name : (struct slice){ "", 0 });
    reply_bulk_str(r, "state");
    reply_bulk_str(r, complete ? "complete" : closed ? "closed" : "open");
    reply_pair_int(r, "total", total);
    reply_pair_int(r, "pending", total - done - failed - cancelled);
    reply_pair_int(r, "done", done);
    reply_pair_int(r, "failed", failed);
    reply_pair_int(r, "cancelled", cancelled);
    batch_pair_time(r, "created-at", rows, COL_SHOW_BATCH_CREATED_AT);
    batch_pair_time(r, "closed-at", rows, COL_SHOW_BATCH_CLOSED_AT);
    batch_pair_time(r, "failed-at", rows, COL_SHOW_BATCH_FAILED_AT);
    batch_pair_time(r, "completed-at", rows, COL_SHOW_BATCH_COMPLETED_AT);
    batch_pair_time(r, "succeeded-at", rows, COL_SHOW_BATCH_SUCCEEDED_AT);
    batch_pair_time(r, "closes-at", rows, COL_SHOW_BATCH_CLOSES_AT);
    reply_bulk_str(r, "parent");
    if (row_null(rows, 0, COL_SHOW_BATCH_PARENT_ID)) {
        reply_null_bulk(r);
        return;
    }
    key = row_full_key(rows, 0, COL_SHOW_BATCH_PARENT_QUEUE_ID);
    job_view_reply_batch(r, key, row_int4(rows, 0, COL_SHOW_BATCH_PARENT_RETRY));
}

static void batch_show_end(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);

    if (PQntuples(rows) > 0)
        batch_reply_row(r, rows);
    else
        reply_null_bulk(r);
    req_end(r);
}

OPERATION(show_batch, .alone = true, .encode = batch_encode, .on_end = batch_show_end, .fail = req_fail_task);

/* ---- CANCEL ---- */

/* Members that a statement reads, and that are cancelled together. */
#define MEMBERS_PAGE 200

/* The batch, and then the batches in it, one after the other. */
struct members_cancel {
    struct job_ref named;
    struct req *req;
    int64_t *batches; /* those that are left; the last one is next */
    size_t count, room;
    int64_t id;    /* the batch whose members are cancelled now */
    int64_t after; /* the next page of its members begins after this one */
    int64_t found; /* members that had not ended */
    bool has_more;
    struct buf error; /* of a page that failed; empty: none */
};

static void batch_cancel_members(struct req *r) {
    struct members_cancel *c = req_alloc(r, sizeof *c);

    if (req_in_txn(r)) {
        req_error(r, "ERR BATCH CANCEL cannot be part of a transaction: send it before MULTI or after EXEC");
        return;
    }
    c->req = r;
    batch_send(r, &c->named, &op_cancel_batch, batch_reply_zero);
}

static void members_cancel_end(struct members_cancel *c) {
    struct req *r = c->req;

    free(c->batches);
    if (buf_len(&c->error) == 0)
        reply_int(r, c->found);
    buf_append(reply_buf(r), buf_ptr(&c->error), buf_len(&c->error));
    buf_free(&c->error);
    req_end(r);
}

static void members_cancel_fail(struct task *t, const struct op_error *err) {
    struct req *r = REQ_OF_TASK(t);
    struct members_cancel *c = r->data;

    free(c->batches);
    buf_free(&c->error);
    req_db_error(r, err);
}

/* The next page of members, or the next batch. */
static void members_cancel_go_on(struct members_cancel *c) {
    if (buf_len(&c->error) > 0 || (!c->has_more && c->count == 0)) {
        members_cancel_end(c);
    } else if (c->has_more) {
        batch_add_row(&c->req->task, &op_batch_members);
    } else {
        c->named = (struct job_ref){ .key = { .id = c->batches[--c->count] } };
        batch_add_row(&c->req->task, &op_cancel_batch);
    }
}

/* A batch that is complete has no members that may be cancelled. */
static void cancel_batch_end(struct task *t, const PGresult *rows) {
    struct members_cancel *c = REQ_OF_TASK(t)->data;

    c->has_more = PQntuples(rows) > 0;
    c->after = 0;
    if (c->has_more) {
        c->id = row_int8(rows, 0, COL_CANCEL_BATCH_ID);
        flow_batch_closed(c->id);
    }
    members_cancel_go_on(c);
}

OPERATION(cancel_batch, .alone = true, .encode = batch_encode, .on_end = cancel_batch_end,
          .fail = members_cancel_fail);

static void members_encode(struct params *p, struct task *t) {
    const struct members_cancel *c = REQ_OF_TASK(t)->data;

    params_set_int8(p, 0, c->id);
    params_set_int8(p, 1, c->after);
    params_set_int4(p, 2, MEMBERS_PAGE);
}

static void members_push_batch(struct members_cancel *c, int64_t id) {
    if (c->count == c->room) {
        c->room = c->room == 0 ? 8 : c->room * 2;
        c->batches = xrealloc(c->batches, c->room * sizeof *c->batches);
    }
    c->batches[c->count++] = id;
}

/* The members are cancelled by a request of the server itself. */
static void on_members_cancelled(struct req *r) {
    struct members_cancel *c = job_ids(r)->own;

    c->found += job_ids(r)->hits;
    if (r->failed)
        buf_append(&c->error, buf_ptr(&r->own), buf_len(&r->own));
    req_free(r);
    members_cancel_go_on(c);
}

/* Jobs and inner batches in queues that the user may not read are left as they are. */
static void members_cancel(struct members_cancel *c, const PGresult *rows) {
    struct req *r = req_new(0, NULL, NULL, on_members_cancelled);
    struct job_ids *ids = job_ids_make(r, (size_t)PQntuples(rows));

    for (int i = 0; i < PQntuples(rows); i++) {
        struct job_key key = row_full_key(rows, i, COL_BATCH_MEMBERS_QUEUE_ID);

        c->after = key.id;
        if (!queue_rights_cover_id(c->req, key.queue_id))
            continue;
        if (row_bool(rows, i, COL_BATCH_MEMBERS_IS_BATCH))
            members_push_batch(c, key.id);
        else
            job_ids_append(r, key);
    }
    ids->own = c;
    if (ids->count > 0) {
        cancel_send(r);
        return;
    }
    req_free(r);
    members_cancel_go_on(c);
}

static void members_end(struct task *t, const PGresult *rows) {
    struct members_cancel *c = REQ_OF_TASK(t)->data;

    c->has_more = PQntuples(rows) == MEMBERS_PAGE;
    members_cancel(c, rows);
}

OPERATION(batch_members, .alone = true, .encode = members_encode, .on_end = members_end,
          .fail = members_cancel_fail);

/* ---- PREDECESSORS ---- */

void cmd_predecessors(struct req *r) {
    if (!job_ids_or_reply(r, 1, 2))
        return;
    if (job_ids(r)->count > 0) {
        batch_add_row(&r->task, &op_show_predecessors);
        return;
    }
    reply_array(r, 0);
    req_end(r);
}

static void predecessors_encode(struct params *p, struct task *t) {
    params_set_int8(p, 0, job_ids(REQ_OF_TASK(t))->keys[0].id);
}

static void predecessor_reply(struct req *r, const PGresult *rows, int row) {
    char id[JOBID_LEN];

    job_format_id(id, row_full_key(rows, row, COL_SHOW_PREDECESSORS_QUEUE_ID),
                  row_time(rows, row, COL_SHOW_PREDECESSORS_EXPIRES_AT),
                  row_int4(rows, row, COL_SHOW_PREDECESSORS_RETRY));
    reply_array(r, 3);
    reply_bulk(r, (struct slice){ id, sizeof id });
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
static bool predecessor_is_shown(struct req *r, const PGresult *rows, int row) {
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

OPERATION(show_predecessors, .alone = true, .encode = predecessors_encode, .on_end = predecessors_end,
          .fail = req_fail_task);

void cmd_batch(struct req *r) {
    static const struct subcommand table[] = {
        { "NEW", 1, -1, batch_new },
        { "CLOSE", 1, 1, batch_close },
        { "CANCEL", 1, 1, batch_cancel_members },
        { "SHOW", 1, 1, batch_show },
    };

    subcommand_run(r, table, LENGTH(table));
}
