/* The consume end of a list: reads it from the database, and sets it. */
#include "queue/list_orientation.h"
#include "queue/queue_ready.h"

#include <stdlib.h>

#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"

struct orientation_task {
    struct task task;
    struct queue *q;
    enum list_end wish;
    uint32_t period; /* the period without peers when the statement was sent; 0: there were peers */
};

/* The number of the present period without peers, or of the last one. */
static uint32_t period = 1;

bool list_orientation_is_known(const struct queue *q) {
    if (q->list.consume_end != END_NONE)
        return true;
    return !q->work->ends.asking && q->list.unset_in == period && !node_has_peers();
}

void list_orientation_peer_appeared(void) {
    period++;
}

void list_orientation_ask(struct queue *q, enum list_end wish) {
    struct orientation_task *t;

    if (q->work->ends.asking)
        return;
    t = xcalloc(1, sizeof *t);
    t->q = q;
    t->wish = wish;
    task_init(&t->task, wish == END_NONE ? &op_read_consume_ends : &op_find_consume_ends);
    queue_work(q)->ends.asking = true;
    q->users++;
    batch_add(&t->task);
}

void list_orientation_wait(struct queue *q, enum list_end wish, struct row_waiter *p) {
    list_push_back(&queue_work(q)->ends.waiters, &p->node);
    list_orientation_ask(q, wish);
}

bool list_open_or_wait(struct queue *q, enum list_end wish, struct row_waiter *p) {
    if (!queue_is_open(q))
        queue_wait_for_list(q, wish, p);
    else if (q->list.consume_end == END_NONE)
        list_orientation_wait(q, wish, p);
    else
        return true;
    return false;
}

static void orientation_encode(struct params *p, struct task *task) {
    struct orientation_task *t = CONTAINER_OF(task, struct orientation_task, task);

    t->period = node_has_peers() ? 0 : period;
    params_int4(p, 0, t->q->id);
    if (t->wish != END_NONE)
        params_int2(p, 1, (int16_t)t->wish);
}

static void list_orientation_end(struct orientation_task *t, const struct op_error *err) {
    struct queue *q = t->q;
    struct list waiting;

    queue_work(q)->ends.asking = false;
    list_init(&waiting);
    list_splice_back(&waiting, &queue_work(q)->ends.waiters);
    row_waiters_run(&waiting, err);
    queue_signal(q);
    q->users--;
    free(t);
}

/* Both statements have the same columns. */
static void orientation_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++) {
        struct queue *q = queue_find_id(row_int4(rows, i, COL_FIND_CONSUME_ENDS_ID));

        if (q != NULL && !row_null(rows, i, COL_FIND_CONSUME_ENDS_CONSUME_END))
            q->list.consume_end = (enum list_end)row_int2(rows, i, COL_FIND_CONSUME_ENDS_CONSUME_END);
    }
    for (size_t i = 0; i < count; i++) {
        struct orientation_task *t = CONTAINER_OF(tasks[i], struct orientation_task, task);

        /* The row of the queue was deleted while the statement ran: use the end that the command wants. */
        if (t->q->list.consume_end == END_NONE)
            t->q->list.consume_end = t->wish;
        t->q->list.unset_in = t->period;
        list_orientation_end(t, NULL);
    }
}

static void orientation_fail(struct task *t, const struct op_error *err) {
    list_orientation_end(CONTAINER_OF(t, struct orientation_task, task), err);
}

#define ORIENTATION_OP(id) \
    OPERATION(id, .encode = orientation_encode, .done = orientation_done, .fail = orientation_fail)

ORIENTATION_OP(read_consume_ends);
ORIENTATION_OP(find_consume_ends);
