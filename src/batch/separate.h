#ifndef SEPARATE_H
#define SEPARATE_H

#include "batch/op.h"
#include "batch/txn.h"

/*
 * Operations whose tasks get separate transactions, so that a client that sends such commands without a pause does not
 * stop all others. These transactions and others take turns. Only `alone` operations that take no jobs are separated.
 *
 * - Failing: a statement fails by the data of a client. INCRBY of a value that is no number is an example. It fails its
 *   transaction, and the tasks of the other operations are sent again. An operation whose tasks share a statement needs
 *   no separation: its tasks become suspects together.
 * - Slow: a statement that a client asked for takes SLOW_US or more. LREM in a long list is an example. While other tasks
 *   wait, slow operations then rest for as long as the statement took. So they get at most half of the time.
 *
 * An operation is separated until SEPARATE_US after its last failed or slow statement. A slow operation is separated for
 * twice the time of the statement in addition: the rest, and the next statement.
 */
#define SEPARATE_US US_PER_S
#define SLOW_US (3 * US_PER_MS)

void separate_init(struct op *const *ops);
/* Called when a statement of op failed for a reason that stays. */
void separate_note_failure(struct op *op);
/* Called at the end of txn. The statements of a connection are timed for SEPARATE_US after a transaction with such operations
 * that took SLOW_US or more. */
void separate_note_times(const struct txn *txn, const struct db_result *result);
/* True if the tasks of op get transactions of their own. */
bool separate_is(const struct op *op);
/* Times the statements of txn, whose shared tasks follow, if a transaction was slow lately. */
void separate_watch(const struct txn *txn);
/* Appends a statement of the next separate operation, if there is one with tasks. */
void separate_append(struct txn *txn);

#endif
