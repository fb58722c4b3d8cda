#ifndef JOB_GROUP_H
#define JOB_GROUP_H

#include <stdint.h>
#include "base/jobid.h"
#include "base/util.h"
#include "batch/op.h"

/*
 * Groups: their jobs run strictly one after another. All but the first of a group wait, invisible to
 * claims; who has added a job, or ended one, asks for the next one to be let go, in a transaction of its
 * own. Should that not happen, because the server dies, the heir finds the group within seconds.
 */

/* A job of the group was added, or has gone: committed. */
void group_next(int32_t queue_id, struct slice key);
/* The same of the group of that job, one that waits in it. */
void group_of(struct job_key key);
/* Looks at groups for which there are tokens by now: QCONFIG per-group and rate. */
void groups_turn(void);
/* When that is (clock_mono()), INT64_MAX if never. */
int64_t groups_next_turn(void);
/* Once a second, and once a minute. */
void groups_look(void);
void groups_prune(void);

#endif
