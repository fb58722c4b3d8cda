#ifndef ADD_OPTIONS_H
#define ADD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/job_key.h"
#include "net/args.h"
#include "queue/queue.h"

/* ADDJOB options and the values derived from them, for all code that adds jobs. */

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
    int64_t attempts;    /* after addjob_settle(), 0 is no limit */
    int64_t backoff;
    struct slice deadqueue; /* ptr NULL: none */
    struct slice group;     /* ptr NULL: none */
};

static inline int64_t at_most(int64_t value, int64_t limit) {
    return value < limit ? value : limit;
}

/* Time to live in seconds of a list element whose queue sets none: the maximum of the column. */
#define LIST_TTL INT32_MAX

/* No option was given. */
#define ADD_OPTIONS_UNSAID \
    { .replicate = 1, .ttl = -1, .retry = -1, .maxlen = -1, .attempts = -1, .backoff = -1 }

/* Has the job a limit of attempts, a back-off or a dead-letter queue? */
static inline bool addjob_has_attempts(const struct add_options *o) {
    return o->attempts > 0 || o->backoff > 0 || o->deadqueue.ptr != NULL;
}

static inline bool addjob_has_group(const struct add_options *o) {
    return o->group.ptr != NULL;
}

extern const struct arg_spec addjob_spec;

/* Replaces options that were not given by the settings of q (NULL: the queue does not exist). Limits times to the
 * range of the columns. */
void addjob_settle(struct add_options *o, const struct queue *q);
/* Copies the dead-letter queue's name into the memory of r, because a change of the settings frees the original. */
void addjob_keep(struct req *r, struct add_options *o);
/* If the user of r may not write to the dead-letter queue that the options name, replies NOPERM, ends r and returns
 * false. */
bool addjob_allow_or_reply(struct req *r, const struct add_options *o) MUST_CHECK;
/* The error for options that contradict each other, or that this server cannot fulfil. NULL: none. */
const char *addjob_conflict(const struct add_options *o, struct slice queue);
/* The error if the queue refuses the job, because of MAXLEN or a pause. NULL: none. */
const char *addjob_refusal(const struct queue *q, const struct add_options *o);

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
