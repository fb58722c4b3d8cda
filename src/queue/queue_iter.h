#ifndef QUEUE_ITER_H
#define QUEUE_ITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "net/request.h"
#include "queue/queue.h"

/*
 * Iteration over the queues in steps, for QSCAN and SCAN. The cursor is the index of the next queue. A queue
 * that exists during the whole iteration is returned once.
 */

/* Checks queues from index *slot on, until `count` are wanted or `effort` were checked. *slot becomes the
 * index of the first queue that was not checked. names has room for queue_iter_room(count). Returns how many were
 * found. */
size_t queue_iter_queues(uint32_t *slot, int64_t count, int64_t effort,
                         bool (*wanted)(const struct queue *q, const void *how), const void *how,
                         struct slice *names);
size_t queue_iter_room(int64_t count);
/* The most queues that one step checks. The long name of a visible queue counts as several. */
#define SCAN_QUEUES_MAX 20000

/* Replies all wanted queues, in several turns if needed: the text head, an array length, and the names. how
 * must live as long as the request. */
void queue_iter_all(struct req *r, bool (*wanted)(const struct queue *q, const void *how), const void *how,
                    const char *head);
/* Replies the first `count` wanted queues in the order of their values, the largest value first, in the same way.
 * The reply has no queue that is dropped during the iteration. */
void queue_iter_largest(struct req *r, size_t count, int64_t (*value)(const struct queue *q),
                        bool (*wanted)(const struct queue *q, const void *how), const void *how,
                        const char *head);
#define SCAN_LARGEST_MAX 1000
/* The index of a cursor. An invalid cursor is after all queues. */
uint32_t queue_iter_slot(int64_t cursor);
/* Replies the next cursor and the names, and ends the request. */
void queue_iter_reply(struct req *r, uint32_t slot, const struct slice *names, size_t count);

/* For Redis' commands about keys: a queue with queued jobs is a key, and its value is a list. */
static inline bool queue_is_key(const struct queue *q) {
    return q != NULL && !q->hidden && queue_len(q) > 0;
}

#endif
