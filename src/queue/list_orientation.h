#ifndef LIST_ORIENTATION_H
#define LIST_ORIENTATION_H

#include "batch/op.h"
#include "queue/queue.h"
#include "queue/queue_store.h"

/*
 * A queue as a list: its jobs lie from one end to the other in the order of their keys. The consume end is the
 * end with the first key, which GETJOB takes. A list whose elements are pushed at the left has its consume end
 * at the right, and vice versa. So for GETJOB both lists are first in, first out. The first push or pop sets
 * the consume end for all servers. It remains while the queue has its row.
 */

static inline enum list_end list_other_end(enum list_end end) {
    return end == END_LEFT ? END_RIGHT : END_LEFT;
}

/* Sets the consume end as the database has it. END_NONE: it must be read again. */
static inline void list_orientation_set(struct queue *q, enum list_end end) {
    q->list.consume_end = end;
    q->list.unset_in = 0;
}
/* False if the consume end must be read: the row may have an end that this server does not know, or a request is
 * about to set it. True with END_NONE: it is not set. A server without peers reads that once. A peer sets the
 * consume end without a message, so a server with peers reads it for each command. */
bool list_orientation_is_known(const struct queue *q);
/* A peer has appeared. It may set the consume end of each queue that has none. */
void list_orientation_peer_appeared(void);
/* Reads the consume end from the database, and sets it to `wish` if it is not set. END_NONE: does not set it, and
 * writes nothing. For a queue with a row. Then the waiters of q are served. */
void list_orientation_ask(struct queue *q, enum list_end wish);
/* The same, and calls p->ready after that. q->list.consume_end is still END_NONE then if wish is END_NONE and the end is
 * not set. */
void list_orientation_wait(struct queue *q, enum list_end wish, struct row_waiter *p);
/* True if q has its row and its consume end. Otherwise p waits for the first that is missing. */
bool list_open_or_wait(struct queue *q, enum list_end wish, struct row_waiter *p);

#endif
