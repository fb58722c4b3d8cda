#ifndef BULK_IN_TXN_H
#define BULK_IN_TXN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "batch/op.h"
#include "net/request.h"
#include "queue/queue.h"
#include "queue/queue_store.h"

/*
 * DEL, EXPIRE and PERSIST in a client transaction. They are one statement, which sees the effects of the statements
 * before it. Outside of one, bulk.h changes a page per transaction.
 */

/* Maximum number of jobs in all queues of one command. */
#define KEY_IN_TXN_MOST 100000

struct key_in_txn {
    /* Set by the caller. */
    struct queue **queues; /* each queue once */
    size_t count;
    bool removes;
    /* If not removes: jobs that expire by before get expires_at and wake_at, as in their rows. */
    int64_t expires_at;
    int64_t wake_at;
    int64_t before;
    /* Only queues whose latest expires_at is between these two. TIME_NEVER: without end. */
    int64_t least;
    int64_t most;
    /* Private. */
    struct req *req;
    size_t opened;
    struct row_waiter row_waiter;
};

/* Has the queue a row, or will it have one when the statement of r's transaction begins? q may be NULL. */
static inline bool key_may_exist(const struct req *r, const struct queue *q) {
    return q != NULL && (q->id != 0 || (req_in_txn(r) && q->work->row.opening));
}

/* Replies in how many queues a job was changed. k must live as long as r. */
void key_in_txn(struct req *r, struct key_in_txn *k);

#endif
