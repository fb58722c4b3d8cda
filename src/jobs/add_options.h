#ifndef ADD_OPTIONS_H
#define ADD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/job_key.h"
#include "net/args.h"
#include "queue/queue.h"

/* ADDJOB options and the values derived from them, for all code that adds jobs. */

/* ON FAIL; the numbers are parameters of add_in_flow.sql. */
enum on_fail {
    ON_FAIL_CANCEL,
    ON_FAIL_CONTINUE,
    ON_FAIL_HOLD, /* the job waits while the predecessor is a dead letter */
};

/* A job that a command names. In a client transaction an earlier command may add it, and then its number is made when the
 * statement of that command is built. */
struct job_ref {
    struct job_key key;    /* with id: only the rank */
    const int64_t *id;     /* NULL: the job exists */
    const struct queue *q; /* with id */
};

static inline struct job_key job_ref_key(const struct job_ref *ref) {
    return ref->id == NULL ? ref->key : (struct job_key){ ref->q->id, ref->key.rank, *ref->id };
}

#define PREDECESSORS_MAX 1000

/* AFTER, ON FAIL and BATCH as the client gave them, and as they are read. */
struct add_flow {
    struct arg_words after;
    struct arg_words on;
    struct slice batch;
    const struct job_ref *predecessors;
    size_t count;
    struct job_ref of_batch; /* the batch, or a job of it; id 0: none */
    enum on_fail on_fail;
};
#define UNIQUE_MAX 512
#define UNIQUE_ERROR "ERR UNIQUE key must have 1 to 512 bytes"

/* Times are in seconds. A negative value: the option was not given. */
struct add_options {
    int64_t replicate;
    int64_t ttl;
    int64_t retry;
    int64_t delay;
    int64_t maxlen; /* 0: none */
    int64_t priority;
    bool async;
    struct slice unique; /* ptr NULL: none */
    int64_t unique_for;  /* 0: until the job is gone */
    struct slice until;  /* START, END; ptr NULL: END */
    bool replace;        /* the body of the job that has the key, if that was not delivered */
    bool has_delay;      /* DELAY was given; set by ADDJOB. With `replace`, the job gets this delay, too */
    bool with_outcome;   /* the reply says whether the job was added */
    int64_t attempts;    /* after addjob_settle(), 0 is no limit */
    int64_t backoff;
    struct slice deadqueue; /* ptr NULL: none */
    struct slice group;     /* ptr NULL: none */
    struct arg_pairs header_pairs;
    struct slice headers; /* of header_pairs, by headers_or_reply() */
    struct add_flow flow;
};

/* Time to live in seconds of a list element whose queue sets none: the maximum of the column. */
#define LIST_TTL INT32_MAX

/* No option was given. */
#define ADD_OPTIONS_UNSAID \
    { .replicate = 1, .ttl = -1, .retry = -1, .maxlen = -1, .attempts = -1, .backoff = -1 }

/* Has the job a limit of attempts, a back-off or a dead-letter queue? */
static inline bool addjob_has_attempts(const struct add_options *o) {
    return o->attempts > 0 || o->backoff > 0 || o->deadqueue.ptr != NULL;
}

static inline bool addjob_is_unique(const struct add_options *o) {
    return o->unique.ptr != NULL;
}

static inline bool addjob_has_group(const struct add_options *o) {
    return o->group.ptr != NULL;
}

/* Is the unique key free when the job is delivered for the first time? */
static inline bool addjob_is_until_start(const struct add_options *o) {
    return o->until.ptr != NULL && slice_is(o->until, "start");
}

/* The effect of the request depends on whether the job that has the key was delivered. */
static inline bool addjob_is_of_started(const struct add_options *o) {
    return o->replace || addjob_is_until_start(o);
}

/* Has the job a property for which add_jobs.sql has no column? */
static inline bool addjob_is_rare(const struct add_options *o) {
    return o->headers.ptr != NULL || o->replace || addjob_is_until_start(o);
}
/* Writes the object of such properties, which is the parameter "rare" of add_rare.sql. */
void addjob_write_rare(struct buf *b, const struct add_options *o);
static inline bool addjob_in_flow(const struct add_options *o) {
    return o->flow.after.count > 0 || o->flow.batch.ptr != NULL;
}

extern const struct arg_spec addjob_spec;

/* Gives each option that the command did not set its value from the settings of q (NULL: the queue does not exist).
 * Limits times to the range of the columns. */
void addjob_settle(struct add_options *o, const struct queue *q);
/* Copies the dead-letter queue's name into the memory of r, because a change of the settings frees the original. */
void addjob_keep(struct req *r, struct add_options *o);
/* Checks the rights that options need besides the right to add: REPLACE changes a job in the queue, so it needs the
 * right to read, too; DEADQUEUE needs the right to write to that queue. If the user of r lacks one, replies NOPERM, ends
 * r and returns false. */
bool addjob_allow_or_reply(struct req *r, const struct add_options *o, struct slice queue) MUST_CHECK;
/* The error for options that contradict each other, or that this server cannot fulfil. NULL: none. */
const char *addjob_conflict(const struct add_options *o, struct slice queue);
/* The error if the queue refuses count jobs, because of MAXLEN or a pause. NULL: none. */
const char *addjob_refusal(const struct queue *q, const struct add_options *o, int64_t count);
/* The same for jobs of other queues that come to q by a command without options. growth: the jobs that q has then, less
 * the jobs that it has now. If q does not grow, its maxlen does not matter. */
const char *addjob_move_refusal(const struct queue *q, int64_t growth);

/* True for jobs that expire in the order of their positive numbers, or never. They need no wake_at. */
bool addjob_is_plain(const struct add_options *o);
struct job_key addjob_key(const struct queue *q, const struct add_options *o, int64_t id);
/* Times of a job's row, clock_db(). */
struct job_times {
    int64_t ready_at;
    int64_t expires_at;
    int64_t wake_at; /* TIME_NEVER: none */
};
struct job_times addjob_times(const struct add_options *o, int64_t id, int64_t now);

#endif
