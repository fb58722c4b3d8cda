#ifndef ID_LIST_H
#define ID_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/job_key.h"
#include "net/request.h"
#include "pg/params.h"

/*
 * Commands about job IDs: ACKJOB, NACK, SHOW ... Their task has a row per ID. The statement returns the ordinals of
 * the IDs that it changed or found.
 */
struct job_ids {
    int64_t hits; /* jobs that the statement changed or found */
    bool unknown; /* sent again: the first try may have been committed */
    /* For NACK, ENQUEUE and WORKING, clock_db(): when the try was sent. For NACK and ENQUEUE: of the first try that
     * may have been committed, and when the loss of the last try was noticed. */
    int64_t sent_us;
    int64_t lost_us;
    bool *unleased;  /* NACK and ENQUEUE, per key after a loss: the first try found no lease of the job */
    int64_t *tokens; /* per key the token, 0 or TOKEN_STALE; NULL: no ID had a token */
    size_t stale;
    bool unsure;        /* a lost try may have changed jobs that the next did not find */
    int64_t seconds;    /* argument of WORKING, or DELAY of NACK; NO_SECONDS: not given */
    struct slice error; /* argument of NACK; ptr NULL: none */
    struct slice note;  /* JSON: that error with its time, or PROGRESS of WORKING; ptr NULL: none */
    int64_t percent;    /* of PROGRESS */
    struct slice text;  /* of PROGRESS; ptr NULL: none */
    size_t exhausted;   /* jobs that NACK now makes dead letters */
    void *own;          /* data of the command, or NULL */
    uint64_t *places;   /* of ACKJOB: row_places.h, per key; NULL: not all are known */
    int *args;          /* per key: the index of its ID in argv; NULL: the IDs are not in argv */
    size_t count;
    struct job_key keys[];
};

#define NO_SECONDS (-1)

/* The job was put back or delivered again after the token was issued. */
#define TOKEN_STALE (-1)
#define TOKEN_ERROR \
    "STALE the job was put back or delivered again since that token was given: nothing was done"

/* Parses the IDs in argv[from .. to) into r->data, and sets the rows of the task. All are checked first. False if an
 * argument is not an ID: -BADID was replied. IDs that no server of this database made are left out, as
 * unknown jobs. So are IDs of jobs whose queue the user may not read. */
bool job_ids_or_reply(struct req *r, int from, int to) MUST_CHECK;
/* The same. Each ID may be followed by a token. */
bool job_ids_tokens_or_reply(struct req *r, int from, int to) MUST_CHECK;
/* Replies -BADID with the text, which is no ID, and ends r. */
void job_id_refuse(struct req *r, struct slice text);
/* For the server's own requests: an empty list for up to `most` keys. */
struct job_ids *job_ids_make(struct req *r, size_t most);
void job_ids_append(struct req *r, struct job_key key);
/* The same for one key. */
void job_ids_set(struct req *r, struct job_key key);
static inline struct job_ids *job_ids(const struct req *r) {
    return r->data;
}

/* The leases of the jobs are held from the command to its end, see lease.h. */
void job_ids_hold(const struct req *r);
void job_ids_unhold(const struct req *r);
/* Holds the leases of the jobs of r, and adds r to the next statement of op. */
void job_ids_send(struct req *r, struct op *op);

/* Appends queue_id, rank, id to columns 0, 1, 2. */
void job_ids_encode(struct params *p, struct task *t);
/* The same, and asks for a commit marker: for changes whose second try cannot tell what the first one did. */
void job_ids_encode_marked(struct params *p, struct task *t);
/* Appends the tokens to column col: 0 for an ID without a token. */
void job_ids_encode_tokens(struct params *p, int col, struct task *t);
/* The key that a row of the result belongs to, see task_row(). */
static inline struct job_key job_ids_key(const struct task *t, const PGresult *rows, int row) {
    return job_ids(REQ_OF_TASK(t))->keys[task_row(t, rows, row)];
}
/* op.again of statements that remove jobs: notes that the first try may have been committed. */
bool job_ids_again(struct task *t, bool unknown);
/* op.again of statements with a commit marker: notes that the marker could not be read. */
bool job_ids_again_unsure(struct task *t, bool unknown);
/* op.answer_lost of statements that remove jobs: counts the jobs that had a lease here. */
void job_ids_removed(struct task *t);
/* op.answer_lost of statements that lease jobs: bootstrap.c reads the ends of their leases. */
void job_ids_leased(struct task *t);
/* op.answer_lost of other statements. */
void job_ids_unknown(struct task *t);
/* True if column col is null, which tells that the token of the row's key is stale. Notes that. */
bool job_ids_note_stale(struct task *t, const PGresult *rows, int row, int col);
bool job_ids_is_stale(const struct job_ids *ids, size_t at);
/* After a second try: counts the keys that it did not find by the state that the first try left. Unpins the leases. */
void job_ids_settle(struct req *r);
/* Is text an ID of the job? */
bool job_id_names(struct slice text, struct job_key key);
/* The ID of a row's job as the client gave it, without a token. ptr NULL: no events of its queue are sent, or the
 * request has no IDs in argv. */
struct slice job_ids_text(const struct task *t, const PGresult *rows, int row);
/* Ends the request: replies hits, or -STALE, or -UNKNOWN. */
void job_ids_end(struct req *r);
/* op.on_end: settles, replies the hits, and ends the request. */
void job_ids_reply_hits(struct task *t, const PGresult *rows);
/* op.fail: ends the request with the error. */
void job_ids_fail(struct task *t, const struct op_error *err);

#endif
