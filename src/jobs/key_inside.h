#ifndef KEY_INSIDE_H
#define KEY_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "batch/op.h"
#include "net/req.h"
#include "queue/queue.h"
#include "queue/queue_row.h"

/*
 * DEL, EXPIRE and PERSIST between MULTI and EXEC: where list_pages.h goes page by page, each committed, here is one
 * statement, which sees what those before it have done.
 */

/* So many jobs all queues of a command may have. */
#define KEY_INSIDE_MOST 100000

struct key_inside {
    /* The owner's. */
    struct queue **queues; /* each of them once */
    size_t count;
    bool removes;
    /* If not: jobs that expire by before will do so at expires_at; wake_at as in their rows. */
    int64_t expires_at;
    int64_t wake_at;
    int64_t before;
    /* Only queues whose job that lives longest does so until a time between these; TIME_NEVER: for ever. */
    int64_t least;
    int64_t most;
    /* Private. */
    struct req *req;
    size_t opened;
    struct parked parked;
};

static inline bool key_is_inside(const struct req *r) {
    return r->task.bundle != NULL;
}

/* Has the queue a row, or will it have got one when the statement of r's transaction begins? q may be NULL. */
static inline bool key_may_exist(const struct req *r, const struct queue *q) {
    return q != NULL && (q->id != 0 || (key_is_inside(r) && q->opening));
}

/* Replies of how many queues it was done with a job or more. k is as long-lived as r. */
void key_inside(struct req *r, struct key_inside *k);

#endif
