/* The consume end of a list: reads it from the database, and sets it. */
#include "queue/list_orientation.h"

#include <stdlib.h>

#include "batch/batch.h"
#include "batch/operations.h"

struct front_task {
    struct task task;
    struct queue *q;
    enum list_end wish;
};

void list_front_ask(struct queue *q, enum list_end wish) {
    struct front_task *t;

    if (q->list.asking)
        return;
    t = xcalloc(1, sizeof *t);
    t->q = q;
    t->wish = wish;
    t->task.op = &op_find_fronts;
    t->task.rows = 1;
    list_init(&t->task.node);
    q->list.asking = true;
    q->users++;
    batch_add(&t->task);
}

void list_front_wait(struct queue *q, enum list_end wish, struct row_waiter *p) {
    list_push_back(&q->list.waiters, &p->node);
    list_front_ask(q, wish);
}

bool list_is_open(struct queue *q, enum list_end wish, struct row_waiter *p) {
    if (!queue_is_open(q))
        queue_wait_for_list(q, wish, p);
    else if (q->list.front == END_NONE)
        list_front_wait(q, wish, p);
    else
        return true;
    return false;
}

static void fronts_encode(struct params *p, struct task *task) {
    const struct front_task *t = CONTAINER_OF(task, struct front_task, task);

    params_int4(p, 0, t->q->id);
    if (t->wish == END_NONE)
        params_null(p, 1, PARAM_INT2);
    else
        params_int2(p, 1, (int16_t)t->wish);
}

static void list_orientation_end(struct front_task *t, const struct op_error *err) {
    struct queue *q = t->q;
    struct list waiting;
    struct list *node;

    q->list.asking = false;
    list_init(&waiting);
    list_splice_back(&waiting, &q->list.waiters);
    while ((node = list_pop_front(&waiting)) != NULL) {
        struct row_waiter *p = LIST_ENTRY(node, struct row_waiter, node);

        if (err != NULL)
            p->fail(p, err);
        else
            p->go(p, q);
    }
    queue_signal(q);
    q->users--;
    free(t);
}

static void fronts_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++) {
        struct queue *q = queue_find_id(row_int4(rows, i, COL_FIND_FRONTS_ID));

        if (q != NULL && !row_null(rows, i, COL_FIND_FRONTS_FRONT))
            q->list.front = (enum list_end)row_int2(rows, i, COL_FIND_FRONTS_FRONT);
    }
    for (size_t i = 0; i < count; i++) {
        struct front_task *t = CONTAINER_OF(tasks[i], struct front_task, task);

        /* The row of the queue was deleted while the statement ran: use our own choice. */
        if (t->q->list.front == END_NONE)
            t->q->list.front = t->wish;
        list_orientation_end(t, NULL);
    }
}

static void fronts_fail(struct task *t, const struct op_error *err) {
    list_orientation_end(CONTAINER_OF(t, struct front_task, task), err);
}

struct op op_find_fronts = {
    .name = "find_fronts",
    .stmt = SQL_FIND_FRONTS,
    .conn = CONN_WRITE,
    .encode = fronts_encode,
    .done = fronts_done,
    .fail = fronts_fail,
};
