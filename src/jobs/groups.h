#ifndef GROUPS_H
#define GROUPS_H

#include <stdint.h>
#include "base/job_key.h"
#include "base/util.h"

/*
 * Groups: their jobs run strictly one after another. Only the first job of a group is visible to claims. After a
 * job of a group is added or has ended, the server releases the next job in a separate transaction. If the server
 * fails before that, the leader finds the group within seconds, or within a minute if there are many dead rows.
 */

/* A job of the group has ended, and that is committed. */
void group_next(int32_t queue_id, struct slice group);
/* The job was added to the group, and that is committed. */
void group_joined(struct job_key key, struct slice group);
/* The same for a job whose group is not known: reads it first. */
void group_find_and_join(struct job_key key);
/* groups_look() is called once a second, groups_prune() once a minute. */
void groups_look(void);
void groups_prune(void);

#endif
