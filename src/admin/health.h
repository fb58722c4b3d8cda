#ifndef HEALTH_H
#define HEALTH_H

#include <stdint.h>
#include "batch/op.h"

/*
 * HEALTH: a real job goes through add, get and ack. One goes for all who have asked since the one before: however many
 * ask, there is one at a time.
 *
 * Its queue is the same for all servers, hidden (queue.h), and each takes its job by its key. What a server that dies
 * leaves there expires a minute later; with RETRY 0 nothing comes back before that.
 */

/* Begins what was asked for, and answers those whose time is over (clock_mono()). */
void health_turn(int64_t mono_us);
/* When health_turn() has something to do (clock_mono()), INT64_MAX if never. */
int64_t health_next_due(void);

#endif
