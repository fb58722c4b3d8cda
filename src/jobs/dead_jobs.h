#ifndef DEAD_JOBS_H
#define DEAD_JOBS_H

#include <stdint.h>
#include "net/req.h"
#include "queue/queue.h"

/* The jobs of r (job_ids.h) that were not found among the living may be among the dead: revives those, or
 * deletes them, and replies how many were found in all. */
void dead_revive_or_reply(struct req *r);
void dead_delete_or_reply(struct req *r);
/* Revives at most count dead jobs of q, the first ones, and replies how many; ends r. */
void dead_revive_queue(struct req *r, struct queue *q, int64_t count);

#endif
