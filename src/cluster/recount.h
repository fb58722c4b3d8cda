#ifndef RECOUNT_H
#define RECOUNT_H

#include <stdbool.h>
#include "batch/op.h"

/*
 * Counters come from memory, where every server adds up what each has done. When servers come, go, or
 * lose a connection that may not add up any more: then a queue is doubtful, until it has been quiet
 * for a while and was counted in the database.
 */

/* Are there doubtful queues? Then what all servers have counted has to be saved soon. */
bool recount_is_pending(void);
/* Once a second: takes what was counted in the last one, if nothing has changed since; and counts the
 * next doubtful queues. */
void recount_doubtful(void);

#endif
