#ifndef COMMIT_MARKER_H
#define COMMIT_MARKER_H

#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"
#include "batch/op.h"

/* Commit markers tell whether a lost transaction was committed. A server without peers finds out by the
 * rows: a job that exists was inserted. With peers this is not enough, because a peer may have delivered the
 * job and deleted it after an acknowledgement. A second insert would deliver that job twice. Sessions that take jobs by
 * SQL count as peers from their first change on. Each transaction that inserts jobs therefore also inserts a row with its
 * number. A transaction with a change that must not run twice does the same. The row is deleted some time after the result
 * has arrived. */

/* Called while t is encoded. Its transaction gets a commit marker. If the result is lost, lost_txn.c reads the marker:
 * t ends by op.answer_lost, or is sent again. */
void commit_marker_always(struct task *t);
/* The same, unless this server has no peers: for jobs that the next statement finds by their rows. */
void commit_marker(struct task *t);

/* The marker of a sent transaction. */
struct commit_marker {
    struct list node;
    int64_t txn;
};

/* For txn.c, when all tasks of a transaction are encoded. Sets the parameters of mark_commit, its last statement.
 * False if no task asked for a marker. */
bool commit_marker_write(struct commit_marker *m, struct params *p) MUST_CHECK;
/* The transaction has ended. */
void commit_marker_end(struct commit_marker *m);
/* Called while a task is encoded: the number of a further row, which the statement itself may insert. 0: the transaction
 * has no commit marker. */
int64_t commit_marker_further(void);
/* Called when the commit marker of a lost transaction was read: its further row m->txn stays until commit_marker_end(). */
void commit_marker_keep(struct commit_marker *m);

enum commit_fate {
    COMMIT_UNKNOWN, /* the database did not answer the query */
    COMMIT_DONE,
    COMMIT_UNDONE,
};

struct lost_task {
    struct list node;
    int64_t txn;
    void (*on_known)(struct lost_task *l, enum commit_fate fate);
};

/* Asks the database for the marker of l->txn. on_known is called once. */
void commit_marker_ask(struct lost_task *l);
/* True if the outcome of a lost transaction is not known yet. */
bool commit_markers_are_asked(void);
/* Looks for the first change by SQL. Called once a second. */
void commit_marker_look(void);
/* Deletes markers that are no longer needed. Called once a second. */
void commit_marker_forget(void);

#endif
