/* The time to live of a queue as a key: the latest expiry of its queued jobs. */
#include "jobs/list_life.h"

#include "base/clock.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/bulk.h"
#include "jobs/bulk_in_txn.h"

static void life_ask(struct life *l) {
    batch_add_row(&l->req->task, &op_list_life);
}

static void life_fail(struct task *t, const struct op_error *err) {
    struct req *r = REQ_OF_TASK(t);

    ((const struct life *)r->data)->q->users--;
    req_db_error(r, err);
}

static void on_life_open(struct row_waiter *p, struct queue *q) {
    (void)q;
    life_ask(CONTAINER_OF(p, struct life, row_waiter));
}

static void on_life_not_open(struct row_waiter *p, const struct op_error *err) {
    life_fail(&CONTAINER_OF(p, struct life, row_waiter)->req->task, err);
}

/* In a client transaction an earlier command may be about to create the row of the queue. */
void list_find_life(struct life *l, struct queue *q) {
    l->q = q;
    l->row_waiter = (struct row_waiter){ .go = on_life_open, .fail = on_life_not_open };
    list_init(&l->row_waiter.node);
    q->users++;
    l->req->data = l;
    if (key_is_in_txn(l->req) && !queue_is_open(q))
        queue_wait_for_row(q, &l->row_waiter);
    else
        life_ask(l);
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
