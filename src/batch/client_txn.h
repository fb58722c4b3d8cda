#ifndef CLIENT_TXN_H
#define CLIENT_TXN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "base/job_key.h"
#include "base/list.h"
#include "batch/commit_marker.h"
#include "batch/op.h"

/*
 * Client transactions: the tasks of the commands between MULTI and EXEC, or of one command with several statements. They
 * are committed in their order, all or none.
 *
 * A task with t->client_txn set joins its client transaction when batch_add() gets it. When the owner has prepared
 * all tasks, it calls client_txn_send(). The statements keep the order of tasks[]. Successive tasks of one
 * operation share a statement if op.shares permits it. Client transactions never share a database transaction
 * with ordinary tasks, but several of them can share one. Each database transaction writes a commit marker
 * (commit_marker.h): after a lost connection the database tells whether it was committed.
 */
enum client_txn_end {
    CLIENT_TXN_COMMITTED,    /* the tasks end by on_end() */
    CLIENT_TXN_ANSWERS_LOST, /* committed, but the results are lost: the tasks end by answer_lost() */
    CLIENT_TXN_REFUSED,      /* not committed, because of the error: the tasks end by fail() */
    CLIENT_TXN_UNKNOWN,      /* the database does not tell whether it was committed: by fail() */
};

struct client_txn {
    /* Set by the owner. The client transactions of users take turns: turn.user. */
    struct fair_node turn;
    struct task **tasks;
    size_t count;
    enum commit_kind commit; /* COMMIT_ORDINARY or COMMIT_REPLICATED */
    bool ahead;              /* jobs may be inserted at or before the scan position of their queue */
    size_t edges;            /* how many pairs of a new job and its predecessor the tasks add */
    /* Set by take_in_txn.c when it encodes the first statement: of each queue to which the tasks put back jobs, the first of
     * them, sorted by queues. */
    const struct job_key *returned;
    size_t returned_count;
    bool returned_is_known;
    /* While tasks are prepared: the task of the command with that number, from 1 on, if it comes before the command that is
     * prepared now. NULL: there is none. */
    const struct task *(*find)(const struct client_txn *ct, int64_t number);
    void (*on_joined)(struct client_txn *ct);
    /* Called once, before the tasks end one by one. error: for CLIENT_TXN_REFUSED and CLIENT_TXN_UNKNOWN, else NULL.
     * The owner may free the client transaction when its last task ends. */
    void (*on_end)(struct client_txn *ct, enum client_txn_end end, const struct op_error *error);
    /* Private. */
    uint8_t failures;
    uint8_t times_lost;              /* how often the session ended while it was executed */
    uint8_t lost_alone;              /* the same, with no other client transaction beside it */
    const struct op_error *exceeded; /* it was lost after it had exceeded a bound: its error; or NULL */
    bool alone;         /* its transaction failed, or was lost more than once: it is sent without others */
    int64_t blocked_us; /* as in struct task */
    struct lost_task lost;
};

struct txn;

/* The number of its statements, at most CLIENT_TXN_MAX_STATEMENTS. The caller checks that. */
size_t client_txn_statements(const struct client_txn *ct);
#define CLIENT_TXN_MAX_STATEMENTS 1000
/* The most of its edges. The caller checks that, too: AFTER #n names up to 1,000 jobs in a few bytes. */
#define CLIENT_TXN_MAX_EDGES 100000
/* The rows of its statements, at most CLIENT_TXN_MAX_ROWS, because they are written in one turn. The caller checks that. */
size_t client_txn_rows(const struct client_txn *ct);
#define CLIENT_TXN_MAX_ROWS 200000
/* task_size() of all its tasks, at most OP_MAX_BYTES. The caller checks that. */
size_t client_txn_size(const struct client_txn *ct);
/* Queues tasks[count] (count > 0) for sending. */
void client_txn_send(struct client_txn *ct);
/* Ends all tasks by fail(), in place of client_txn_send(). */
void client_txn_refuse(struct client_txn *ct, const struct op_error *error);

/* For batch.c. client_txns_wait(): true if a client transaction is queued. */
void client_txns_init(void);
bool client_txns_wait(void);
/* Appends the next client transactions to txn. */
void client_txns_append(struct txn *txn);
/* Called when a transaction of client transactions has ended, and its connection does not count it any more. */
void client_txns_note_time(const struct txn *txn);
void client_txns_committed(struct txn *txn, PGresult *const *rows);
void client_txns_failed(struct txn *txn, const struct op_error *error);
void client_txns_lost(struct txn *txn);

#endif
