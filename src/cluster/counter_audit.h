#ifndef COUNTER_AUDIT_H
#define COUNTER_AUDIT_H

#include <stdbool.h>

/*
 * Counter audit. Each server adds up in memory the changes that all servers made. The sum can be wrong after
 * servers start, stop, or lose a connection. The counters of the queue are then suspect.
 * They stay so until the queue is quiet for a while and its rows were counted in the database. An audit that changes
 * the jobs ever in or out is repeated some seconds later, because a slow server may save its counters late.
 */

/* Are there queues with suspect counters? Then all servers must save their counters soon. */
bool counter_audit_is_pending(void);
/* Call once a second. Takes the counts of the last audit if the queue has not changed since. Then starts to count
 * the next queues with suspect counters. */
void counter_audit_tick(void);

#endif
