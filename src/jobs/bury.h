#ifndef BURY_H
#define BURY_H

#include "base/jobid.h"
#include "batch/op.h"

/*
 * Jobs with ATTEMPTS that have been delivered as often, and not been acknowledged: they die. The row
 * tells so itself (deliveries >= attempts, and ready_at has passed), so any server can bury it: the one
 * that watched the last lease, the heir of that one, or one whose claim comes upon it. Until it is buried
 * it is neither queued nor counted so, and nobody delivers it.
 */

/* Buries a job if its row says that it is over. ended, if any, is called with arg when that is
 * committed, or the row says otherwise. */
void bury_job(struct job_key key, void (*ended)(void *arg), void *arg);

#endif
