/* The time to live of a queue as a key: the latest expiry of its queued jobs. */
#include "jobs/list_life.h"

#include "base/clock.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/bulk.h"

static void life_fail(struct task *t, const struct op_error *err) {
    struct req *r = REQ_OF_TASK(t);

    ((const struct life *)r->data)->q->users--;
    req_db_error(r, err);
}

/* In a client transaction an earlier command may be about to create the row of the queue. */
void list_find_life(struct life *l, struct queue *q) {
    l->q = q;
    l->req->data = l;
    l->req->task.op = &op_list_life;
    l->req->task.rows = 1;
    q->users++;
    row_waiter_init(&l->row_waiter, &l->req->task, NULL, life_fail);
    task_reads(&l->req->task, queue_rows_read(q, INT64_MAX, 0, false));
    if (req_in_txn(l->req))
        queue_prepare(q, &l->row_waiter);
    else
        batch_add(&l->req->task);
}

static void life_encode(struct params *p, struct task *t) {
    const struct life *l = REQ_OF_TASK(t)->data;

    params_set_int4(p, 0, l->q->id);
    params_set_time(p, 1, clock_db());
    params_set_time(p, 2, clock_db() + KEY_FOR_EVER_US);
}

static void life_done(struct task *t, const PGresult *rows) {
    struct life *l = REQ_OF_TASK(t)->data;

    l->q->users--;
    l->found(l, row_time_or(rows, 0, COL_LIST_LIFE_EXPIRES_AT, LIFE_NONE));
}

OPERATION(list_life, .alone = true, .encode = life_encode, .on_end = life_done, .fail = life_fail);
