#ifndef HEALTH_H
#define HEALTH_H

#include <stdint.h>
#include "batch/op.h"

/*
 * HEALTH: adds, takes and acknowledges a real job. There is one job at a time. It serves all requests that
 * arrived before it was added.
 *
 * All servers use the same hidden queue (queue.h). Each server takes its job by its key. A job that a failed
 * server leaves there expires after a minute. Because of RETRY 0 it is not delivered again before.
 */

/* Starts a run if requests wait, and replies an error to requests whose timeout is over (clock_mono()). */
void health_turn(int64_t mono_us);
/* The time at which health_turn() must be called next (clock_mono()), INT64_MAX if never. */
int64_t health_next_due(void);

#endif
