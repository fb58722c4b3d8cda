/* Rows of queues in the database: inserts them, deletes them, saves their counters. */
#include "queue/queue_store.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/node.h"
#include "base/timer.h"
#include "batch/batch.h"
#include "batch/contention.h"
#include "batch/operations.h"
#include "queue/list_orientation.h"
#include "queue/queue_ready.h"

/* A task that inserts or deletes the row of a queue. */
struct queue_task {
    struct task task;
    struct queue *q;
    enum list_end consume_end; /* the wished consume end of a new row */
};

static struct queue_task *task_new(struct queue *q, struct op *op) {
    struct queue_task *t = xcalloc(1, sizeof *t);

    t->q = q;
    task_init(&t->task, op);
    return t;
}

/* ---- insertion ---- */

/* Some rows were not inserted because another session was inserting them. */
static bool some_unopened;

static void start_opening(struct queue *q, enum list_end consume_end) {
    struct queue_task *t = task_new(q, &op_open_queues);

    t->consume_end = consume_end;
    queue_work(q)->row.opening = true;
    batch_add(&t->task);
}

/* Waiters whose queues get no row. A timer fails them after their commands have returned. */
static struct {
    struct list list;
    struct timer timer;
} refused = { .list = { &refused.list, &refused.list } };

const struct op_error queues_full_error = { OP_QUEUES_FULL,
                                            "the queues take more memory than maxmemory-queues" };

static void fail_refused(struct timer *t) {
    static struct log_kind kind;
    struct list waiting;

    (void)t;
    log_sometimes(&kind, LOG_WARNING_, "queues", "%s: new queues are refused", queues_full_error.message);
    list_init(&waiting);
    list_splice_back(&waiting, &refused.list);
    row_waiters_run(&waiting, &queues_full_error);
}

static void row_waiter_refuse(struct row_waiter *p) {
    list_push_back(&refused.list, &p->node);
    timer_set(&refused.timer, clock_mono(), fail_refused);
}

void queue_wait_for_list(struct queue *q, enum list_end consume_end, struct row_waiter *p) {
    static uint64_t arrivals;

    if (q->id == 0 && !q->hidden && !q->work->row.opening && queues_are_full()) {
        row_waiter_refuse(p);
        return;
    }
    p->arrival = ++arrivals;
    list_push_back(&queue_work(q)->row.waiters, &p->node);
    if (!q->work->row.opening)
        start_opening(q, consume_end);
}

void queue_wait_for_row(struct queue *q, struct row_waiter *p) {
    queue_wait_for_list(q, END_NONE, p);
}

static void row_waiter_run(const struct row_waiter *p, const struct op_error *err) {
    if (err != NULL)
        p->fail(p->task, err);
    else if (p->ready != NULL)
        p->ready(p->task);
    else
        batch_add(p->task);
}

void queue_prepare(struct queue *q, struct row_waiter *p) {
    if (queue_is_open(q))
        row_waiter_run(p, NULL);
    else
        queue_wait_for_row(q, p);
}

static int compare_arrivals(const void *a, const void *b) {
    const struct row_waiter *x = *(struct row_waiter *const *)a, *y = *(struct row_waiter *const *)b;

    return (x->arrival > y->arrival) - (x->arrival < y->arrival);
}

static void sort_by_arrival(struct list *waiting) {
    size_t count = 0, at = 0;
    struct row_waiter **sorted;

    LIST_EACH(node, waiting)
        count++;
    sorted = xmalloc((count + 1) * sizeof(struct row_waiter *));
    LIST_EACH(node, waiting)
        sorted[at++] = LIST_ENTRY(node, struct row_waiter, node);
    qsort(sorted, count, sizeof(struct row_waiter *), compare_arrivals);
    list_init(waiting);
    for (at = 0; at < count; at++)
        list_push_back(waiting, &sorted[at]->node);
    free(sorted);
}

void row_waiters_run(struct list *waiting, const struct op_error *err) {
    struct list *node;

    while ((node = list_pop_front(waiting)) != NULL)
        row_waiter_run(LIST_ENTRY(node, struct row_waiter, node), err);
}

static void end_row_waiters(struct queue *q, const struct op_error *err) {
    struct list waiting;

    list_init(&waiting);
    list_splice_back(&waiting, &queue_work(q)->row.waiters);
    row_waiters_run(&waiting, err);
}

static void open_encode(struct params *p, struct task *t) {
    const struct queue_task *o = CONTAINER_OF(t, struct queue_task, task);

    params_bytea(p, 0, o->q->name);
    params_int2_or_null(p, 1, (int16_t)o->consume_end);
}

static void open_done(struct task **tasks, size_t count, const PGresult *rows) {
    struct list waiting;

    for (int i = 0; i < PQntuples(rows); i++) {
        struct queue *q = queue_find(row_bytes(rows, i, COL_OPEN_QUEUES_NAME));

        if (q == NULL)
            continue;
        queue_set_id(q, row_int4(rows, i, COL_OPEN_QUEUES_ID));
        queue_set_pause(q, q->pause | (unsigned)row_int2(rows, i, COL_OPEN_QUEUES_PAUSE));
        if (!row_null(rows, i, COL_OPEN_QUEUES_CONSUME_END))
            list_orientation_set(q, (enum list_end)row_int2(rows, i, COL_OPEN_QUEUES_CONSUME_END));
        /* A peer may have inserted the row and added jobs. Its notifications had no effect here, because the
         * id was unknown. */
        if (node_has_peers())
            position_expect(&q->scan);
        queue_signal(q);
    }
    list_init(&waiting);
    for (size_t i = 0; i < count; i++) {
        struct queue_task *t = CONTAINER_OF(tasks[i], struct queue_task, task);

        queue_work(t->q)->row.opening = false;
        some_unopened |= t->q->id == 0;
        if (t->q->id != 0)
            list_splice_back(&waiting, &queue_work(t->q)->row.waiters);
        free(t);
    }
    /* A client that sent jobs to several new queues expects their order. Clients that wait for all of these queues
     * expect it, too. */
    if (count > 1)
        sort_by_arrival(&waiting);
    row_waiters_run(&waiting, NULL);
}

/* Moves the waiters whose patience is over to the list. */
static void row_waiters_give_up(struct queue *q, struct list *over) {
    LIST_EACH_SAFE(node, &q->work->row.waiters) {
        if (!lock_patience_is_over(&LIST_ENTRY(node, struct row_waiter, node)->blocked_us))
            continue;
        list_remove(node);
        list_push_back(over, node);
    }
}

/* A failed request may free queues, so it fails after the loop. */
void queue_open_again(void) {
    struct list over;

    if (!some_unopened)
        return;
    some_unopened = false;
    list_init(&over);
    QUEUE_EACH(q) {
        if (q->work->row.opening)
            continue;
        row_waiters_give_up(q, &over);
        if (!list_empty(&q->work->row.waiters))
            start_opening(q, END_NONE);
    }
    row_waiters_run(&over, &contention_error);
}

static void open_fail(struct task *task, const struct op_error *err) {
    struct queue_task *t = CONTAINER_OF(task, struct queue_task, task);

    queue_work(t->q)->row.opening = false;
    end_row_waiters(t->q, err);
    free(t);
}

OPERATION(open_queues, .encode = open_encode, .done = open_done, .fail = open_fail);

/* ---- deletion ---- */

void queue_forget(struct queue *q) {
    if (q->id == 0) {
        queue_drop(q);
        return;
    }
    queue_work(q)->row.opening = true;
    batch_add(&task_new(q, &op_drop_queues)->task);
}

static void drop_begin(struct params *p) {
    params_set_text(p, 1, node_self()->id);
}

static void queue_store_drop_encode(struct params *p, struct task *t) {
    params_int4(p, 0, CONTAINER_OF(t, struct queue_task, task)->q->id);
}

/* A request that came while the statement ran needs the row. If the row was not deleted, it may have jobs
 * that peers added. */
static void dropped(struct queue *q) {
    queue_work(q)->row.opening = false;
    if (q->id != 0) {
        end_row_waiters(q, NULL);
        queue_signal(q);
    } else if (!list_empty(&q->work->row.waiters)) {
        start_opening(q, END_NONE);
    } else if (q->users == 0) {
        queue_drop(q);
    }
}

static void queue_store_drop_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++) {
        struct queue *q = queue_find_id(row_int4(rows, i, COL_DROP_QUEUES_ID));

        if (q != NULL)
            queue_set_id(q, 0);
    }
    for (size_t i = 0; i < count; i++) {
        struct queue_task *t = CONTAINER_OF(tasks[i], struct queue_task, task);

        dropped(t->q);
        free(t);
    }
}

static void drop_fail(struct task *task, const struct op_error *err) {
    struct queue_task *t = CONTAINER_OF(task, struct queue_task, task);

    (void)err;
    dropped(t->q);
    free(t);
}

OPERATION(drop_queues, .begin = drop_begin, .encode = queue_store_drop_encode, .done = queue_store_drop_done,
          .fail = drop_fail);

/* ---- counters ---- */

/* The most queues whose counters are saved in one turn. */
#define SAVE_MOST 5000

/* The changes of one queue's counters, up to the time when the task was queued. */
struct counters_task {
    struct task task;
    int32_t queue_id;
    int64_t jobs_in;
    int64_t jobs_out;
};

bool queue_save_counters(void) {
    struct queue *q = NULL;
    int64_t jobs_in, jobs_out;

    for (int left = SAVE_MOST; left > 0 && (q = queue_next_dirty(&jobs_in, &jobs_out)) != NULL; left--) {
        struct counters_task *t = xcalloc(1, sizeof *t);

        *t = (struct counters_task){ .queue_id = q->id, .jobs_in = jobs_in, .jobs_out = jobs_out };
        task_init(&t->task, &op_save_counters);
        batch_add(&t->task);
    }
    return q != NULL;
}

static void counters_encode(struct params *p, struct task *task) {
    const struct counters_task *t = CONTAINER_OF(task, struct counters_task, task);

    params_int4(p, 0, t->queue_id);
    params_int8(p, 1, t->jobs_in);
    params_int8(p, 2, t->jobs_out);
}

/* If it is unknown whether the transaction was committed, the changes are dropped, because a repetition
 * could add them twice. Then the saved counters lack the changes of about one second. */
static bool counters_again(struct task *t, bool unknown) {
    if (unknown)
        free(CONTAINER_OF(t, struct counters_task, task));
    return !unknown;
}

OPERATION(save_counters, .encode = counters_encode, .on_end = task_free, .fail = task_free_failed,
          .again = counters_again);
