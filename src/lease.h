/* layer 3 */
#ifndef LEASE_H
#define LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "jobid.h"

/*
 * The leases this server watches: jobs that come back when their time is over.
 * The truth is in the row (ready_at, owner); a lease here tells when to look. A
 * lease without an end (retry 0) is not kept, because nothing ever happens then.
 *
 * While a statement about the job is under way its lease is held: it does not
 * end before the statement's outcome is known.
 */

/* until_us: clock_db(). Replaces an older lease of the job. */
void lease_add(struct job_key key, int64_t until_us);
/* False when there was none. */
bool lease_remove(int64_t id);
bool lease_known(int64_t id);
void lease_hold(int64_t id);
void lease_unhold(int64_t id);
/* Takes a lease that has ended at now_us; false when there is none. */
bool lease_take_ended(int64_t now_us, struct job_key *key);
/* Compares with all leases that are running by the database, told one by one: those
 * that were not told are dropped at the end. */
void lease_review_begin(void);
void lease_review_end(void);
/* When the next one ends (clock_db()), INT64_MAX if none does. */
int64_t lease_next_end(void);
size_t lease_count(void);
void lease_clear(void);

#endif
