#ifndef QUEUE_RESTORE_H
#define QUEUE_RESTORE_H

#include "batch/op.h"

/*
 * A standby that was promoted may lack what it had not received, rows of queues among it. Jobs name
 * their queue by the row's number: without the row they could not be found after the next start.
 */

/* Makes the rows that are missing. */
void queue_restore(void);

#endif
