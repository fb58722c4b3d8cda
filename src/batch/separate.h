#ifndef SEPARATE_H
#define SEPARATE_H

#include "batch/op.h"
#include "batch/txn.h"

/*
 * Bounds the time that statements of clients take from other clients, from the first statement on. Only operations
 * that are `alone` and take no jobs are bounded. Their tasks are:
 *
 * - Heavy: the statement reads or changes many rows (task_cost()). LREM in a long list is an example. Each heavy task has a
 *   transaction of its own, behind the tasks that it must find (found_by_heavy). The heavy tasks of a connection are
 *   sent one after the other, and their users take turns.
 *   While other tasks wait, heavy tasks then rest for as long as the last one took. So they get at most half of the time.
 *   Heavy reads have CONN_LONG, a connection of their own. Until it is connected, they are sent over CONN_READ.
 * - Light: they share transactions. All light statements of a transaction together read COST_MOST rows at most.
 * - Of a slow operation: a light statement took SLOW_US or more. The tasks of the operation are then heavy for SEPARATE_US,
 *   and for twice the time of the statement in addition. A server does not know before how slow an operation is. So a
 *   transaction has one statement of it first, and twice as many each time that no statement was slow.
 * - Of a failing operation: a statement fails by the data of a client. INCRBY of a value that is no number is an example. It
 *   fails its transaction, and the tasks of the other operations are sent again. Until SEPARATE_US after the last failure,
 *   the operation has transactions of its own with one task. An operation whose tasks share a statement needs no
 *   separation: its tasks become suspects together.
 */
#define HEAVY_COST 512
#define COST_MOST 4096
#define SEPARATE_US US_PER_S
#define SLOW_US (3 * US_PER_MS)

void separate_init(struct op *const *ops);
/* Sets t->heavy. Called before t is queued for the first time. */
void separate_weigh(struct task *t);
/* Called when a statement of op failed for a reason that stays. */
void separate_note_failure(struct op *op);
/* Called at the end of txn. The statements of a connection are timed for SEPARATE_US after a transaction with bounded
 * operations that took SLOW_US or more. */
void separate_note_times(const struct txn *txn, const struct db_result *result);
/* True if the tasks of op get transactions of their own, because it is failing. */
bool separate_is(const struct op *op);
/* Times the statements of txn, whose shared tasks follow, if a transaction was slow lately. */
void separate_watch(const struct txn *txn);
/* The most statements of an operation that is `alone` in a transaction. */
size_t separate_most(const struct op *op);
/* True if txn has room for the next light statement of op, and counts it. */
bool separate_fits(struct txn *txn, struct op *op);
/* Appends a heavy task, or statements of the next operation that is failing or was left out, if there is one. */
void separate_append(struct txn *txn);

#endif
