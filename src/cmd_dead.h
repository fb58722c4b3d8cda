/* layer 4 */
#ifndef CMD_DEAD_H
#define CMD_DEAD_H

#include "op.h"
#include "req.h"

/* The jobs of r (job_ids.h) that were not found among the living may be among the dead: revives those, or
 * deletes them, and replies how many were found in all. */
void dead_revive_or_reply(struct req *r);
void dead_delete_or_reply(struct req *r);

#endif
