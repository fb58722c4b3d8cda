#ifndef LIST_FRONT_H
#define LIST_FRONT_H

#include "batch/op.h"
#include "queue/queue.h"
#include "queue/queue_row.h"

/*
 * A queue as a list: its jobs in the order of their keys lie from one end to the other. Its front is the end
 * where the first of them is, that GETJOB takes. A list to which is pushed from the left has its front at the
 * right, and the other way round, so that both are first in, first out for GETJOB. Who pushes to, or pops
 * from, the list first settles it, for all servers and as long as the queue has its row.
 */

static inline enum list_end list_other_end(enum list_end end) {
    return end == END_LEFT ? END_RIGHT : END_LEFT;
}

/* Asks the database, for a queue with a row and q->front not known; and settles it as wished, but for
 * END_NONE. Then waiters of q are served. */
void list_front_ask(struct queue *q, enum list_end wish);
/* The same, and calls p->go when it is known, or, without a wish, nobody has settled it. */
void list_front_park(struct queue *q, enum list_end wish, struct parked *p);

#endif
