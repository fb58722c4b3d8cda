#ifndef SCAN_H
#define SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "net/req.h"
#include "queue/queue.h"

/*
 * Going over the queues in steps, with a cursor that is the place of the next
 * queue: QSCAN, SCAN. Who is there all the time is met once.
 */

/* Looks at queues from *slot on until count of them are wanted or effort of them were looked at, and leaves
 * *slot at the first not looked at. names has room for scan_room(count); the value is how many were found. */
size_t scan_queues(uint32_t *slot, int64_t count, int64_t effort,
                   bool (*wanted)(const struct queue *q, const void *how), const void *how,
                   struct slice *names);
size_t scan_room(int64_t count);
/* A step that a client asks for looks at so many queues at most; a long name counts as several. */
#define SCAN_QUEUES_MAX 20000

/* All that are wanted, in several turns if need be: the length of an array and its names, behind the text head. how
 * lives as long as the request. */
void scan_all(struct req *r, bool (*wanted)(const struct queue *q, const void *how), const void *how,
              const char *head);
/* Where a cursor stands; one that is none of ours is behind all queues. */
uint32_t scan_slot(int64_t cursor);
/* Replies the next cursor and the names, and ends the request. */
void scan_reply(struct req *r, uint32_t slot, const struct slice *names, size_t count);

/* Redis' commands about keys: a queue with queued jobs is a key, its value a list. */
static inline bool queue_is_key(const struct queue *q) {
    return q != NULL && !q->hidden && queue_len(q) > 0;
}

#endif
