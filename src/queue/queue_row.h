#ifndef QUEUE_ROW_H
#define QUEUE_ROW_H

#include "batch/op.h"
#include "queue/queue.h"

/* The rows of queues in the database: made when a job or a pause state needs
 * one, forgotten when long unused; and their counters. */

/* Somebody who needs a queue's id. */
struct parked {
    struct list node;
    /* The queue has its id; p is in no list any more. */
    void (*go)(struct parked *p, struct queue *q);
    /* The row could not be made. */
    void (*fail)(struct parked *p, const struct op_error *err);
};

static inline bool queue_is_open(const struct queue *q) {
    return q->id != 0 && !q->opening;
}

/* Calls p->go when the queue has its row; call it when !queue_is_open(q). */
void queue_park(struct queue *q, struct parked *p);
/* Ten times a second: asks again for rows that somebody else was making. */
void queue_open_again(void);
/* Writes what the counters of some thousand queues have gained. True: there may be more. */
bool queue_save_counters(void);
/* Removes the object, and the row if nothing else needs it. */
void queue_forget(struct queue *q);

#endif
