#ifndef CRON_H
#define CRON_H

#include <stdint.h>
#include "batch/op.h"

/*
 * What time makes due: leases that end, jobs that are due or expire, clients that
 * waited long enough, idle queues, counters to be saved, the database's clock.
 */

/* Does what has become due. Called once per turn, before the batches are sent.
 * Before all is loaded there is nothing of it. */
void cron_turn(void);
/* Microseconds until there is something to do. */
int64_t cron_wait(void);
#endif
