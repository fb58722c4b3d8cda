/* layer 4 */
#ifndef JOB_IDS_H
#define JOB_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "jobid.h"
#include "params.h"
#include "req.h"

/*
 * Commands over job IDs: ACKJOB, NACK, SHOW ... Their task has a row per ID; the
 * statement returns the ordinals of those it did something with.
 */
struct job_ids {
    int64_t hits; /* jobs the statement did something with */
    bool unknown; /* sent again: the first try may have been committed */
    /* Of NACK and ENQUEUE, clock_db(): when the first try that may have been committed was sent, and when
     * the last one's loss was known. */
    int64_t sent_us;
    int64_t lost_us;
    size_t count;
    struct job_key keys[];
};

/* The IDs in argv[from ..) as r->data, task rows included. All are checked first:
 * false when one is no ID, and -BADID was replied. IDs that no server of this
 * database made are left out, as unknown jobs. */
bool job_ids_or_reply(struct req *r, int from) MUST_CHECK;
/* The same for one known key, for the server's own requests. */
void job_ids_set(struct req *r, struct job_key key);
static inline struct job_ids *job_ids(const struct req *r) {
    return r->data;
}

/* Leases are held from the command to its end, see lease.h. */
void job_ids_hold(const struct req *r);
void job_ids_unhold(const struct req *r);

/* Appends queue_id, rank, id to columns 0, 1, 2. */
void job_ids_encode(struct params *p, struct task *t);
/* The request and the key of a row by its ordinal (from 1). */
struct req *job_ids_find(struct task **tasks, size_t count, int32_t ordinal, struct job_key *key);
/* op.again for what removes jobs: remembers that the first try may have been committed. */
bool job_ids_again(struct task *t, bool unknown);
/* Replies hits and ends, or as the error says. */
void job_ids_reply_hits(struct task **tasks, size_t count);
void job_ids_fail(struct task *t, const struct op_error *err);

#endif
