#ifndef MAINTENANCE_H
#define MAINTENANCE_H

#include <stdint.h>

/*
 * Work that is due at a time: ends of leases, delayed and expired jobs, timeouts of waiting clients, unused queues,
 * saving of counters, synchronisation with the database's clock.
 */

/* Does the work that is due. Call it once per turn, before the batches are sent. Does only a part of it until the
 * queues are loaded. */
void maintenance_turn(void);
/* Microseconds until the next work is due. */
int64_t maintenance_wait(void);
#endif
