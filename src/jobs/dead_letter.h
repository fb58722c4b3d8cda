#ifndef DEAD_LETTER_H
#define DEAD_LETTER_H

#include "base/job_key.h"

/*
 * Jobs that have used all their attempts without an acknowledgement become dead letters. The row itself shows it:
 * deliveries >= attempts, and ready_at has passed. Any server can therefore move the job: the server that watched
 * the last lease, the leader, or a server whose claim finds the row. Until then the job is neither ready nor
 * counted as ready, and no claim delivers it.
 */

/* Moves a job to the dead letters if its row says that it is exhausted. ended (may be NULL) is called with arg
 * after the commit, or when the row says that the job is not exhausted. */
void dead_letter_job(struct job_key key, void (*ended)(void *arg), void *arg);

#endif
