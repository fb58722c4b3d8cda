#ifndef WAITING_COUNT_H
#define WAITING_COUNT_H

#include <stdint.h>

struct queue;

/*
 * The numbers of jobs that wait for predecessors, for figures that come from memory. Each server counts these jobs in
 * passes, a page at a time, with pauses. A pass begins a second after the one before, and took half a minute for a
 * million jobs. So a number is at most two passes old. QLEN AFTER counts the jobs of a queue at once.
 */

/* Jobs of the queue that wait, and the completion jobs of open batches. */
int64_t waiting_count(const struct queue *q);
/* The same for all queues. */
int64_t waiting_count_all(void);
/* Is called ten times a second. */
void waiting_count_tick(void);

#endif
