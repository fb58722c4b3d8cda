#ifndef JOB_EXPIRY_H
#define JOB_EXPIRY_H

#include <stdint.h>
#include "batch/op.h"

/*
 * Delays that end and TTLs that are over. Jobs with a delay, or with a TTL other
 * than the default, are found by the index on wake_at; all others expire in the
 * order of their keys, so a range of ids finds them. No table is ever scanned,
 * and what is dead already is passed over once.
 */

/* A job whose row has wake_at = us (clock_db()) was committed. */
void expiry_wake_at(int64_t us);
/* Nothing is known of what is due: looks from the beginning. */
void expiry_rewind(void);
/* Asks for what is due by now, if anything is. */
void expiry_wake(void);
/* When something will be due (clock_db()), INT64_MAX when nothing. */
int64_t expiry_next_wake(void);
/* Asks for jobs with the default TTL that is over. */
void expiry_in_order(void);

#endif
