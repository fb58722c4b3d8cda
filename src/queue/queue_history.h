#ifndef QUEUE_HISTORY_H
#define QUEUE_HISTORY_H

#include "base/history.h"
#include "queue/queue.h"

/*
 * The history of the server, of the oldest queues, and of queues that HISTORY has asked for. A timer takes a sample of
 * the server once a second, and of a tenth of the queues. With its history, a queue has a histogram of waits. Both are in
 * memory only, and count in memory_all as MEMORY_HISTORY.
 */

/* Queues at later places of the table have no history, and METRICS does not show them. */
#define QUEUE_FIGURES_SLOTS_MAX 100000
/* The most memory of the histories of queues, in bytes. It is less if maxmemory is below 64 times this. */
#define QUEUE_HISTORY_MAX (16 << 20)

extern const struct history_shape server_history_shapes[HISTORY_RANGES];
extern const struct history_shape queue_history_shapes[HISTORY_RANGES];

/* True if METRICS and HISTORY may show the queue: its name has at most 255 bytes, and clients see it. */
bool queue_has_figures(const struct queue *q);
/* The memory of the history and the histogram of a queue, in bytes. */
size_t queue_history_bytes(void);
/* Starts the history of the server, and the timer. Called when the queues are loaded. */
void queue_history_start(void);
/* NULL: it has not started. */
const struct history *queue_history_of_server(void);
/* Frees the history of a queue that is about to be freed. */
void queue_history_drop(struct queue *q);
/* Starts the history of a queue now, if it may have one, because a job was delivered. */
void queue_history_want(struct queue *q);
/* HISTORY asks for the queue: its history starts now, if it may have one, and is kept. At most a hundred queues have a
 * history for this reason. A queue gives way to another one ten minutes after HISTORY has asked for it the last time. */
void queue_history_ask(struct queue *q);

#endif
