#ifndef ADD_OPTIONS_H
#define ADD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/jobid.h"
#include "net/args.h"
#include "queue/queue.h"

/* The options of ADDJOB, and what follows from them, for whoever adds jobs. */

/* Seconds. Less than 0: not said. */
struct add_options {
    int64_t replicate;
    int64_t ttl;
    int64_t retry;
    int64_t delay;
    int64_t maxlen; /* 0: none */
    int64_t priority;
    bool async;
    struct slice unique; /* ptr NULL: none */
    int64_t unique_for;  /* 0: as long as the job lives */
    int64_t attempts;    /* settled: 0 is no limit */
    int64_t backoff;
    struct slice deadqueue; /* ptr NULL: none */
    struct slice group;     /* ptr NULL: none */
};

static inline int64_t at_most(int64_t value, int64_t limit) {
    return value < limit ? value : limit;
}

/* Nothing said. */
#define ADD_OPTIONS_UNSAID \
    { .replicate = 1, .ttl = -1, .retry = -1, .maxlen = -1, .attempts = -1, .backoff = -1 }

/* Is it told from other jobs when it comes back? */
static inline bool addjob_has_attempts(const struct add_options *o) {
    return o->attempts > 0 || o->backoff > 0 || o->deadqueue.ptr != NULL;
}

static inline bool addjob_has_group(const struct add_options *o) {
    return o->group.ptr != NULL;
}

extern const struct arg_spec addjob_spec;

/* What was not said becomes as q is set (NULL: there is no such queue), and times what a row can hold. */
void addjob_settle(struct add_options *o, const struct queue *q);
/* What r may need after its queue was set anew is r's own then. */
void addjob_keep(struct req *r, struct add_options *o);
/* Why such a job is refused, or NULL: what contradicts itself, or cannot be had here; */
const char *addjob_conflict(const struct add_options *o, struct slice queue);
/* and what the queue has against it. */
const char *addjob_refusal(const struct queue *q, const struct add_options *o);

struct job_key addjob_key(const struct queue *q, const struct add_options *o, int64_t now);
/* Of a job's row; clock_db(). */
struct job_times {
    int64_t ready_at;
    int64_t expires_at;
    int64_t wake_at; /* TIME_NEVER: none */
};
struct job_times addjob_times(const struct add_options *o, int64_t id, int64_t now);
/* It was committed; whether it is queued is not looked at. */
void addjob_count(struct queue *q, struct job_key key, const struct job_times *at);

#endif
