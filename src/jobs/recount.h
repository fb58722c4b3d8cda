#ifndef RECOUNT_H
#define RECOUNT_H

#include <stdbool.h>

/*
 * Counts the jobs of all queues in the database, and corrects the counters in memory: at start, after a lost connection,
 * and after the clock was set. Commands go on. No transaction that changes jobs is under way when the snapshot of the count
 * is taken (batch_add_still()). The counters in memory are noted at this moment. At the end each counter changes by the
 * difference between the count and the noted value.
 *
 * The count also has the first ready job of each queue. It corrects scan positions that are not known, or that are behind
 * jobs which a failed database has made ready again.
 */

/* Starts a recount. Only one may run. The leases in memory are those of the database. on_snapshot is called when the
 * counters are noted. on_end(false): the database has failed, or recount_invalidate() was called. */
void recount_start(void (*on_snapshot)(void), void (*on_end)(bool ok));
/* Transactions were lost since the recount has started. Its result will be dropped. */
void recount_invalidate(void);
bool recount_is_under_way(void);

#endif
