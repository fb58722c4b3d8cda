#ifndef POP_IN_TXN_H
#define POP_IN_TXN_H

#include "batch/op.h"
#include "jobs/list_take.h"

/*
 * List commands that take elements, in a client transaction. They see the effects of the commands before them, and
 * do not wait. Their statements find the elements themselves, from the first key that may have a job.
 */

void pop_in_txn(struct list_take *t);

#endif
