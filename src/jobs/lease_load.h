#ifndef LEASE_LOAD_H
#define LEASE_LOAD_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Reads the running leases from the database: at start, after a lost connection, and after the clock was set. Commands go
 * on. load_leases reads all rows of jobs over CONN_LONG. The leases that differ from those in memory are then read again by
 * key over CONN_WRITE (find_leases), so their results are in order with the changes of this server.
 * At the end the leases in memory are those of the database.
 */

/* Starts a load. Only one may run. Leases that have ended since since_us (clock_db()) are loaded, too: claims before
 * their ends have passed over their jobs. had_losses: this server has lost transactions since it knew all its leases. A
 * lease of its own that it does not know is then a lease of a lost claim: no client has the job, and it is put back.
 * on_end(false): the database has failed, or lease_load_invalidate() was called. */
void lease_load_start(int64_t since_us, bool had_losses, void (*on_end)(bool ok));
/* Transactions were lost since the load has started. Its further results will be dropped. */
void lease_load_invalidate(void);

#endif
