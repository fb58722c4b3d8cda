#ifndef QUEUE_ITER_H
#define QUEUE_ITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "net/request.h"
#include "queue/queue.h"

/*
 * Iteration over the queues, for QSCAN, SCAN and the like. A command that checks many queues, or compares long names
 * with a pattern, takes several turns. `how` must live as long as the request.
 */

/* A page. The cursor is the index of the next queue. A queue that exists during the whole iteration is returned once. */
struct queue_page {
    uint32_t slot;  /* the index of the first queue: queue_iter_slot() */
    int64_t count;  /* the most names */
    int64_t effort; /* the most queues to check; the long name of a visible queue counts as several */
    size_t skip;    /* bytes to leave off at the beginning of each name */
};

/* Replies the next cursor and the names of wanted queues. */
void queue_iter_page(struct req *r, const struct queue_page *page,
                     bool (*wanted)(const struct queue *q, const void *how), const void *how);
/* The index of a cursor. An invalid cursor is after all queues. */
uint32_t queue_iter_slot(int64_t cursor);
/* As in Disque, a page of SCAN or QSCAN checks at most this many times COUNT queues. */
#define SCAN_EFFORT 10
/* The most queues that one page checks. */
#define SCAN_QUEUES_MAX 20000

/* Replies all wanted queues: the text head, an array length, and the names. */
void queue_iter_all(struct req *r, bool (*wanted)(const struct queue *q, const void *how), const void *how,
                    const char *head);
/* Replies the first `count` wanted queues in the order of their values, the largest value first, in the same way.
 * The reply has no queue that is dropped during the iteration. */
void queue_iter_largest(struct req *r, size_t count, int64_t (*value)(const struct queue *q),
                        bool (*wanted)(const struct queue *q, const void *how), const void *how,
                        const char *head);
#define SCAN_LARGEST_MAX 1000

/* For Redis' commands about keys: a queue with queued jobs is a key, and its value is a list. */
static inline bool queue_is_key(const struct queue *q) {
    return q != NULL && !q->hidden && queue_len(q) > 0;
}

#endif
