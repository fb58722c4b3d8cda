#ifndef EXPIRE_H
#define EXPIRE_H

#include <stdint.h>

struct queue;

/*
 * Ends of delays and of times to live. Jobs with a delay, or with a time to live other than the default, are found
 * by the index on wake_at. All others expire in the order of their keys, so a range of ids finds them. No statement
 * scans a whole table. A search by wake_at begins where the last one ended, so it reads few dead rows again.
 */

/* A job with wake_at = us (clock_db()) was committed. */
void expire_wake_at(int64_t us);
/* Forgets the known times, and searches from the beginning. */
void expire_reset_scan(void);
/* Starts a search for jobs that are due, if there may be any. */
void expire_wake(void);
/* Time of the next search, clock_db(). INT64_MAX: a search runs, or no job is known. */
int64_t expire_next_wake(void);
/* Sends the query for expired jobs with the default time to live. A job whose row another session has locked is left. The
 * first of these jobs is tried again until it has gone. Then the other ones are found. */
void expire_look_in_order(void);
/* The job with this id is the first one of the queue that is known. Earlier jobs may be committed within the next hour. */
void expire_in_order_from(struct queue *q, int64_t id);

#endif
