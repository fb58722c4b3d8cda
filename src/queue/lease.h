#ifndef LEASE_H
#define LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/jobid.h"
#include "net/worker.h"

/*
 * The leases this server watches: jobs that come back when their time is over.
 * The truth is in the row (ready_at, owner); a lease here tells when to look. A
 * lease without an end (retry 0) is not kept, because nothing ever happens then.
 *
 * While a statement about the job is under way its lease is held: it does not
 * end before the statement's outcome is known.
 */

struct lease_end {
    struct job_key key;
    int64_t row_until_us;
    uint16_t owner; /* the other server that gave it, or 0 */
    bool last;      /* lease_set_last() */
};

/* until_us: clock_db(). Replaces an older lease of the job. The row has the same end. */
void lease_add(struct job_key key, int64_t until_us);
/* The row has another end than the lease: ours begins when the client gets the job. */
void lease_add_row(struct job_key key, int64_t until_us, int64_t row_until_us);
/* The same, of a job that was given to that worker. */
void lease_give(struct job_key key, int64_t until_us, int64_t row_until_us, struct worker *to);
/* The same as lease_add(), of a lease that another server gave and that is watched here as long as nobody else does:
 * owner is that server's number. */
void lease_add_foreign(struct job_key key, int64_t until_us, uint16_t owner);
/* When it ends, the job has had its last attempt: it dies, and is not queued again. Until another lease
 * takes its place. */
void lease_set_last(int64_t id);
/* False when there was none. */
bool lease_remove(int64_t id);
/* The same, and false as well when it was not the lease that the row had: another server has changed
 * the row, and has not been heard yet. other_us: until when the row had ours, else 0. */
bool lease_remove_row(int64_t id, int64_t row_until_us, int64_t *other_us);
bool lease_known(int64_t id);
/* A job that another server had put back, unheard yet, was claimed here over its old lease. */
bool lease_replace(int64_t id);
/* Another server says that it had ended this lease. What had happened here before that was heard: */
enum lease_past {
    LEASE_UNKNOWN,  /* nothing */
    LEASE_HELD,     /* it was still held; it is not any more */
    LEASE_ENDED,    /* it had ended by itself: the job was counted as queued */
    LEASE_REPLACED, /* lease_replace() */
};
enum lease_past lease_revoke(int64_t id, int64_t row_until_us);
/* Whose leases these are, where the rows do not say it yet (worker.h). A second is over. */
void lease_second(void);
typedef void lease_see(void *arg, struct job_key key, int64_t row_until_us, const char *name);
/* Those whose names are to be written now, most of them at most; they count as written. How many there were. */
size_t lease_write_names(size_t most, lease_see *see, void *arg);
/* Those of a worker, or NULL: of all. see() changes no lease. */
void lease_each_unwritten(const char *name, lease_see *see, void *arg);
void lease_hold(int64_t id);
void lease_unhold(int64_t id);
/* Takes a lease that has ended at now_us; false when there is none. */
bool lease_take_ended(int64_t now_us, struct lease_end *end);
/* Its job was counted as queued. */
void lease_end_counted(const struct lease_end *end);
/* Compares with all leases that are running by the database, told one by one: those
 * that were not told are dropped at the end. */
void lease_review_begin(void);
void lease_review_end(void);
/* When the next one ends (clock_db()), INT64_MAX if none does. */
int64_t lease_next_end(void);
size_t lease_count(void);
void lease_clear(void);

#endif
