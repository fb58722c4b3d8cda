#ifndef CONTENTION_H
#define CONTENTION_H

#include <stdbool.h>
#include "batch/batch_impl.h"
#include "batch/op.h"

/*
 * Statements that need a row or a table which another session has locked. No statement on a lane waits for such a
 * lock for longer than lock_timeout of sql/session.sql. A statement that has waited so long fails with 55P03, and its
 * operation is contended: its tasks no longer travel with those of other operations.
 *
 * - The tasks of an operation that names jobs (op.names_jobs) are checked first: find_locked tells which of the
 *   jobs are locked, and does not wait. The tasks whose jobs are free are sent next. The others stay in the
 *   operation's queue, and are checked again in a while.
 * - Of any other operation ever fewer tasks are tried in one statement. A task that fails alone goes behind the others.
 *   The more such tasks follow each other, the longer is the pause before the next is tried.
 *
 * An operation is contended until its queue is empty. A task that waits longer than lock-patience fails with 55P03.
 */
void contention_init(struct op *const *ops);
/* Did another session hold a lock for too long? */
bool contention_is(const char *sqlstate);

/* A statement of the contended operation whose turn it is, if it is time for one. */
void contention_board(struct flight *f);
/* The end of such a flight: after its tasks have ended; or, if f->checks, in place of that. */
void contention_committed(struct flight *f, PGresult *const *rows);
/* A flight has failed because the statement of part guilty waited too long. */
void contention_failed(struct flight *f, size_t guilty);

/* So long transactions of clients pause. */
#define CONTENTION_PAUSE_US (225 * US_PER_MS)
/* Notes at *since that it waits from now on, unless it does already; true when its time is over. */
bool contention_is_over(int64_t *since);
extern const struct op_error contention_error;

#endif
