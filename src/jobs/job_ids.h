#ifndef JOB_IDS_H
#define JOB_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/jobid.h"
#include "net/req.h"
#include "pg/params.h"
#include "queue/events.h"

/*
 * Commands over job IDs: ACKJOB, NACK, SHOW ... Their task has a row per ID; the
 * statement returns the ordinals of those it did something with.
 */
struct job_ids {
    int64_t hits; /* jobs the statement did something with */
    bool unknown; /* sent again: the first try may have been committed */
    /* Of NACK, ENQUEUE and WORKING, clock_db(): when the try was sent; of the former, the first one that may
     * have been committed, and when the last one's loss was known. */
    int64_t sent_us;
    int64_t lost_us;
    int64_t *tokens; /* of the keys, 0 or TOKEN_STALE; NULL: none was given */
    size_t stale;
    bool unsure;        /* and may have been done for those that the second try did not find */
    int64_t seconds;    /* of WORKING, and NACK's DELAY; NO_SECONDS: not said */
    struct slice error; /* of NACK; ptr NULL: none */
    size_t dying;       /* of NACK: jobs on the way to their graves */
    void *own;          /* what the command keeps besides, or NULL */
    size_t count;
    struct job_key keys[];
};

#define NO_SECONDS (-1)

/* The job was put back or delivered again since that token was given. */
#define TOKEN_STALE (-1)
#define TOKEN_ERROR \
    "STALE the job was put back or delivered again since that token was given: nothing was done"

/* The IDs in argv[from .. to) as r->data, task rows included. All are checked first:
 * false when one is no ID, and -BADID was replied. IDs that no server of this
 * database made are left out, as unknown jobs. */
bool job_ids_or_reply(struct req *r, int from, int to) MUST_CHECK;
/* The same, and any of them may have a token behind it. */
bool job_ids_tokens_or_reply(struct req *r, int from, int to) MUST_CHECK;
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
/* Appends the tokens, 0 for those that have none, to column col. */
void job_ids_encode_tokens(struct params *p, int col, struct task *t);
/* The request of a row by its ordinal (from 1), and which of its keys that is; or the key. */
struct req *job_ids_find_at(struct task **tasks, size_t count, int32_t ordinal, size_t *at);
struct req *job_ids_find(struct task **tasks, size_t count, int32_t ordinal, struct job_key *key);
/* op.again for what removes jobs: remembers that the first try may have been committed. */
bool job_ids_again(struct task *t, bool unknown);
/* op.answer_lost of what removes jobs: those that we had leased are found, and gone; */
void job_ids_removed(struct task *t);
/* of what leases them: load.c reads until when; */
void job_ids_leased(struct task *t);
/* and of others. */
void job_ids_unknown(struct task *t);
/* A row says that the token of its key is stale. */
void job_ids_set_stale(struct task **tasks, size_t count, int32_t ordinal);
bool job_ids_is_stale(const struct job_ids *ids, size_t at);
/* What was not found at the second try counts as the first one has left it; leases are held no more. */
void job_ids_settle(struct req *r);
/* Tells those who listen that the job, whose ID r's client gave, has met this. */
void job_ids_event(const struct req *r, enum job_event event, struct job_key key);
/* Replies hits, or that nothing was done because of a token, or that nobody knows, and ends. */
void job_ids_end(struct req *r);
/* All of them: settles, replies and ends; or ends as the error says. */
void job_ids_reply_hits(struct task **tasks, size_t count);
void job_ids_fail(struct task *t, const struct op_error *err);

#endif
