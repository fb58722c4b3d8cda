#ifndef DEAD_JOBS_H
#define DEAD_JOBS_H

#include <stdint.h>
#include "net/request.h"
#include "queue/queue.h"

/* Continue a request about job IDs (id_list.h) whose jobs were not all found. They revive or delete the jobs that
 * are dead letters, reply the number of all jobs found, and end r. */
void dead_revive_or_reply(struct req *r);
void dead_delete_or_reply(struct req *r);
/* Revives the first dead jobs of q, at most count. Replies how many, and ends r. */
void dead_revive_queue(struct req *r, struct queue *q, int64_t count);

#endif
