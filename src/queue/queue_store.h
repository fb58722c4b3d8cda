#ifndef QUEUE_STORE_H
#define QUEUE_STORE_H

#include "batch/op.h"
#include "queue/queue.h"

/* The rows of queues in the database. A job or a pause inserts the row. It is deleted when the queue has
 * been unused for long. This module also saves the counters. */

/* A task that waits for the id of a queue. */
struct row_waiter {
    struct list node;
    uint64_t arrival;   /* order of arrival over all queues */
    int64_t blocked_us; /* clock_mono() since which another session inserts the row; 0: none does */
    int64_t since_us;   /* clock_mono() when it began to wait for room; only in claim_ahead.c */
    struct task *task;
    /* Called when the queue has its id. The waiter is in no list then. NULL: batch_add(). */
    void (*ready)(struct task *t);
    /* Called when the row could not be inserted. */
    void (*fail)(struct task *t, const struct op_error *err);
};

static inline void row_waiter_init(struct row_waiter *p, struct task *t, void (*ready)(struct task *t),
                                   void (*fail)(struct task *t, const struct op_error *err)) {
    list_init(&p->node);
    p->blocked_us = 0;
    p->task = t;
    p->ready = ready;
    p->fail = fail;
}

/* Ends the waiting of all struct row_waiter of the list. err: NULL, or why they fail. */
void row_waiters_run(struct list *waiting, const struct op_error *err);

/* A queue with row waiters is not open: requests that come now must not overtake them. */
static inline bool queue_is_open(const struct queue *q) {
    return q->id != 0 && !q->work->row.opening && list_empty(&q->work->row.waiters);
}

/* Calls p->ready when the queue has its row: at once if the queue is open. */
void queue_prepare(struct queue *q, struct row_waiter *p);
extern const struct op_error queues_full_error; /* OP_QUEUES_FULL */
/* The same, only for a queue that is not open. p->fail is called with queues_full_error if queues_are_full(). */
void queue_wait_for_row(struct queue *q, struct row_waiter *p);
/* The same. If the queue has no consume end, consume_end becomes its consume end. */
void queue_wait_for_list(struct queue *q, enum list_end consume_end, struct row_waiter *p);
/* Opens queues again whose row another session was inserting. Requests that have waited for lock-patience fail. Called ten
 * times a second. */
void queue_open_again(void);
/* Saves the changes of the counters of some thousand queues. True if there may be more. */
bool queue_save_counters(void);
/* Frees the queue, and deletes its row if nothing else needs it. */
void queue_forget(struct queue *q);

#endif
