/* List commands that search a list: where they begin, and the end of their changes. */
#include "jobs/list_read.h"

#include "base/node.h"
#include "batch/batch.h"
#include "batch/commit_marker.h"
#include "jobs/bulk.h"
#include "jobs/bulk_in_txn.h"
#include "jobs/claim_ahead.h"
#include "net/command_spec.h"
#include "queue/list_orientation.h"
#include "queue/queue_ready.h"

enum list_end list_read_consume_end(const struct queue *q) {
    return q->list.consume_end == END_NONE ? END_RIGHT : q->list.consume_end;
}

void list_read_send(struct list_read *l) {
    batch_add_row(&l->req->task, l->from == list_read_consume_end(l->q) ? l->at_front : l->at_back);
}

static void list_settle(struct list_read *l);

/* The consume end of a queue is still unknown when the queue has just got its row. A request that waited before this one
 * may now set it. */
static void on_list_known(struct task *t) {
    struct list_read *l = REQ_OF_TASK(t)->data;

    if (l->unsettled || l->q->work->ends.asking)
        list_settle(l);
    else
        list_read_send(l);
}

void list_read_fail(struct task *t, const struct op_error *err) {
    struct list_read *l = REQ_OF_TASK(t)->data;

    l->q->users--;
    req_db_error(REQ_OF_TASK(t), err);
}

static void list_settle(struct list_read *l) {
    l->unsettled = true;
    if (req_in_txn(l->req) && !queue_is_open(l->q)) {
        queue_wait_for_row(l->q, &l->row_waiter);
        return;
    }
    if ((l->req->cmd->flags & CMD_WRITE) != 0 && !claim_ahead_return(l->q, &l->row_waiter))
        return;
    l->unsettled = false;
    if (!list_orientation_is_known(l->q))
        list_orientation_wait(l->q, END_NONE, &l->row_waiter);
    else
        list_read_send(l);
}

void list_read_start(struct list_read *l) {
    row_waiter_init(&l->row_waiter, &l->req->task, on_list_known, l->at_front->fail);
    l->q->users++;
    list_settle(l);
}

bool list_read_init(struct list_read *l, struct req *r, struct op *at_front, struct op *at_back) {
    struct queue *q = queue_find(r->argv[1]);

    l->req = r;
    l->q = q;
    l->at_front = at_front;
    l->at_back = at_back;
    l->from = END_LEFT;
    r->data = l;
    return key_may_exist(r, q);
}

struct job_key list_read_first_key(const struct list_read *l) {
    if (node_has_peers() || req_in_txn(l->req))
        return (struct job_key){ l->q->id, INT16_MIN, INT64_MIN };
    return queue_first_key(l->q);
}

void list_read_encode(struct params *p, const struct list_read *l) {
    struct job_key first = list_read_first_key(l);

    params_set_int4(p, 0, first.queue_id);
    params_set_int2(p, 1, first.rank);
    params_set_int8(p, 2, first.id);
}

/* ---- changes ---- */

void list_read_encode_change(struct params *p, struct list_read *l) {
    commit_marker_always(&l->req->task);
    list_read_encode(p, l);
}

struct job_key list_read_key(const struct list_read *l, const PGresult *rows, int row) {
    return row_key(l->q->id, rows, row, COL_REMOVE_FIRST_RANK);
}

void list_read_count_gone(const struct list_read *l, const PGresult *rows) {
    bulk_jobs_deleted(l->q, rows, COL_REMOVE_FIRST_RANK, COL_REMOVE_FIRST_READY_AT);
}

/* The change must not be repeated, and its commit marker could not be read. */
bool list_read_again(struct task *t, bool unknown) {
    struct list_read *l = REQ_OF_TASK(t)->data;

    if (!unknown)
        return true;
    l->q->users--;
    req_outcome_unknown(l->req);
    return false;
}

void list_read_answer_lost(struct task *t) {
    struct list_read *l = REQ_OF_TASK(t)->data;

    l->q->users--;
    req_answer_lost(l->req);
}

int64_t list_index(int64_t index) {
    return index < -INT32_MAX ? -INT32_MAX : index > INT32_MAX ? INT32_MAX : index;
}
