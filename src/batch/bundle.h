#ifndef BUNDLE_H
#define BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "base/list.h"
#include "batch/commit_marker.h"
#include "batch/op.h"

/*
 * Client transactions: the tasks of the commands between MULTI and EXEC. They are committed in their order, all
 * or none.
 *
 * A task with t->bundle set joins its client transaction when batch_add() gets it. When the owner has prepared
 * all tasks, it calls bundle_send(). The statements keep the order of tasks[]. Successive tasks of one
 * operation share a statement if op.shares permits it. Client transactions never share a database transaction
 * with ordinary tasks, but several of them can share one. Each database transaction writes a commit marker
 * (commit_marker.h): after a lost connection the database tells whether it was committed.
 */
enum bundle_end {
    BUNDLE_COMMITTED,    /* the tasks end by done() */
    BUNDLE_ANSWERS_LOST, /* committed, but the results are lost: the tasks end by answer_lost() */
    BUNDLE_REFUSED,      /* not committed, because of the error: the tasks end by fail() */
    BUNDLE_UNKNOWN,      /* the database does not tell whether it was committed: by fail() */
};

struct bundle {
    /* Set by the owner. */
    struct task **tasks;
    size_t count;
    enum commit_kind commit; /* COMMIT_ORDINARY or COMMIT_REPLICATED */
    bool ahead;              /* jobs may be inserted at or before the scan position of their queue */
    void (*on_joined)(struct bundle *b);
    /* Called once, before the tasks end one by one. error: for BUNDLE_REFUSED and BUNDLE_UNKNOWN, else NULL.
     * The owner may free the bundle when its last task ends. */
    void (*on_end)(struct bundle *b, enum bundle_end end, const struct op_error *error);
    /* Private. */
    struct list node; /* in the list of queued client transactions */
    uint8_t failures;
    uint8_t times_lost; /* how often the session ended while it was executed */
    uint8_t lost_alone; /* the same, with no other client transaction beside it */
    bool alone;         /* its transaction failed, or was lost more than once: it is sent without others */
    int64_t blocked_us; /* as in struct task */
    struct lost_task lost;
};

struct txn;

/* The number of its statements, at most BUNDLE_MAX_STATEMENTS. The caller checks that. */
size_t bundle_statements(const struct bundle *b);
#define BUNDLE_MAX_STATEMENTS 1000
/* task_size() of all its tasks, at most OP_MAX_BYTES. The caller checks that. */
size_t bundle_size(const struct bundle *b);
/* Queues tasks[count] (count > 0) for sending. */
void bundle_send(struct bundle *b);
/* Ends all tasks by fail(), in place of bundle_send(). */
void bundle_refuse(struct bundle *b, const struct op_error *error);

/* For batch.c. bundles_wait(): true if a client transaction is queued. */
void bundles_init(void);
bool bundles_wait(void);
/* Appends the next client transactions to f. */
void bundles_append(struct txn *f);
/* Called when a transaction of client transactions has ended. */
void bundles_committed(struct txn *f, PGresult *const *rows);
void bundles_failed(struct txn *f, const struct op_error *error);
void bundles_lost(struct txn *f);

#endif
