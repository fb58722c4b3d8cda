#ifndef QUEUE_SURVEY_H
#define QUEUE_SURVEY_H

#include <stdint.h>

/*
 * The age of the oldest job over all queues. It is found in passes over the table of queues, a thousand queues a tick, so
 * that no turn looks at all of them. With ten thousand queues a pass takes a second.
 */

/* Is called ten times a second. */
void queue_survey_tick(void);
/* How long the oldest queued job has been due, of all queues that deliver jobs, in microseconds. 0: no job is queued. It
 * is known from the last pass, and an estimate as queue_oldest_us(). */
int64_t queue_survey_oldest_us(void);

#endif
