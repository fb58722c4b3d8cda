#ifndef GET_INSIDE_H
#define GET_INSIDE_H

#include <stdint.h>
#include "batch/bundle.h"
#include "batch/op.h"
#include "net/req.h"
#include "queue/queue.h"

/*
 * GETJOB between MULTI and EXEC: it sees what the commands before it have added, does not wait, and takes from the
 * queues as they are named, the leftmost first. Its statement finds the jobs by itself, without the plans of
 * claim.h, since nobody can plan with jobs that are not there yet.
 */

/* Behind this key the transaction has to look for what is ready, also what it has made so itself. */
struct job_key first_inside(const struct queue *q, const struct bundle *b);

/* r's queues begin at argument first. form: as for jobs_deliver(). */
void get_inside(struct req *r, int first, int64_t count, unsigned form);

#endif
