#ifndef LIST_LIFE_H
#define LIST_LIFE_H

#include <stdint.h>
#include "net/request.h"
#include "queue/queue.h"
#include "queue/queue_store.h"

/* The latest time at which a queued job of a queue expires (clock_db()), or one of these two. */
#define LIFE_NONE TIME_BEGINNING
#define LIFE_FOR_EVER TIME_NEVER

struct life {
    /* Set by the owner. */
    void (*found)(struct life *l, int64_t until);
    struct req *req;
    /* Private. */
    struct queue *q;
    struct row_waiter row_waiter;
};

/* Finds the latest time at which a queued job of q expires, and calls l->found(). key_may_exist(l->req, q)
 * must be true. l is in the data of its request, and lives as long as the request. */
void list_find_life(struct life *l, struct queue *q);

#endif
