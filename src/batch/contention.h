#ifndef CONTENTION_H
#define CONTENTION_H

#include <stdbool.h>
#include "batch/op.h"
#include "batch/txn.h"

/*
 * Statements that need a row or a table which another session has locked. No statement waits for such a lock
 * longer than lock_timeout of sql/session.sql. Then it fails with 55P03, and its operation is contended: its
 * tasks are no longer sent together with tasks of other operations.
 *
 * - The tasks of an operation that names jobs (op.names_jobs) are checked first. find_locked reads which of the
 *   jobs are locked, and does not wait. Tasks whose jobs are free are sent next. The other tasks stay in the
 *   operation's queue, and are checked again later.
 * - For any other operation, fewer tasks are tried in one statement after each failure. A task that fails alone
 *   goes to the end of the queue. Each such failure in a row makes the pause before the next attempt longer.
 *
 * An operation is contended until its queue is empty. A task that waits longer than lock-patience fails with
 * 55P03.
 */
void contention_init(struct op *const *ops);
/* True if the error says that another session held a lock for too long. */
bool contention_is(const char *sqlstate);

/* Appends a statement of the next contended operation whose pause is over, if there is one. */
void contention_append(struct txn *txn);
/* Called when such a transaction is committed: after its tasks have ended or, if txn->checks, in place of
 * that. */
void contention_committed(struct txn *txn, PGresult *const *rows);
/* Called when a transaction failed because its statement number statement_failed waited for a lock for too long. */
void contention_failed(struct txn *txn, size_t statement_failed);

/* The pause of client transactions that need a locked row or table, in microseconds. */
#define CONTENTION_PAUSE_US (225 * US_PER_MS)
/* Sets *since to now if it is 0. True if lock-patience has passed since *since. */
bool lock_patience_is_over(int64_t *since);
extern const struct op_error contention_error;

#endif
