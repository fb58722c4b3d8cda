#ifndef QUEUE_LATENCY_H
#define QUEUE_LATENCY_H

#include "queue/queue.h"

/*
 * The latencies of the last one to two minutes, for each queue that has delivered a job within two minutes:
 * queue.recent_waits. They do not depend on the histories, which only some queues have. They are in memory only, and
 * count in memory_all as MEMORY_HISTORY.
 */

/* The most memory of all latencies, in bytes: 7,000 queues. It is less if maxmemory is below 64 times this. Further
 * queues have none until others have delivered no job for two minutes. */
#define QUEUE_LATENCY_MAX (16 << 20)

/* For tests: the memory of the latencies of a queue, in bytes. */
size_t queue_latency_bytes(void);
/* Notes the latency of a delivery. */
void queue_latency_note(struct queue *q, int64_t wait_us);
/* Frees the latencies of queues that have delivered no job for two minutes. Called about once a minute. */
void queue_latency_free_idle(void);
/* Frees the latencies of a queue that is about to be freed. */
void queue_latency_drop(struct queue *q);

#endif
