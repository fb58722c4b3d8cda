#ifndef FAILING_H
#define FAILING_H

#include "batch/op.h"
#include "batch/txn.h"

/*
 * Operations whose statements fail by the data of a client. INCRBY of a value that is no number is an example. Such a
 * statement fails its transaction, and the tasks of the other operations are sent again. A client that sends such
 * commands without a pause would fail each of their transactions.
 *
 * Therefore each task of an `alone` operation gets a transaction of its own until FAILING_US after the last failure.
 * These transactions and others take turns. An operation whose tasks share a statement needs no such time: its tasks
 * become suspects together. An operation that takes jobs does not fail by the data of a client.
 */
#define FAILING_US US_PER_S

void failing_init(struct op *const *ops);
/* Called when a statement of op failed for a reason that stays. */
void failing_note(struct op *op);
/* True if the tasks of op get transactions of their own. */
bool failing_is(const struct op *op);
/* Appends a statement of the next failing operation, if there is one with tasks. */
void failing_append(struct txn *f);

#endif
