#ifndef JOB_VIEW_H
#define JOB_VIEW_H

#include <libpq-fe.h>
#include "base/job_key.h"
#include "net/request.h"

/* The states in replies. */
#define JOB_VIEW_STATES(X)     \
    X(VIEW_ACTIVE, "active")   \
    X(VIEW_QUEUED, "queued")   \
    X(VIEW_WAITING, "waiting") \
    X(VIEW_DEAD, "dead")       \
    X(VIEW_DONE, "done")

enum job_view_state {
#define X(id, name) id,
    JOB_VIEW_STATES(X)
#undef X
        VIEW_STATES
};

/* A job as SHOW, QPEEK and JSCAN report it. */
struct job_view {
    struct job_key key;
    int64_t ready_at;
    int64_t expires_at;
    bool delayed;
    bool owned; /* it has a lease, running or ended, that was not given back */
    int32_t retry;
    int32_t delay;
    int32_t nacks;
    int32_t additional_deliveries;
    int16_t replicate;
    struct slice body;
    /* Set for SHOW and JSCAN only. */
    bool cancelled;    /* its worker has not ended it yet */
    bool has_attempts; /* any of the next five fields is set */
    int32_t deliveries;
    int32_t attempts; /* 0: no limit */
    int32_t backoff;
    struct slice deadqueue; /* ptr NULL: none */
    struct slice error;
    int64_t died_at;         /* 0: the job is not dead */
    struct slice unique_key; /* ptr NULL: none */
    struct slice group_key;
    struct slice headers; /* JSON; ptr NULL: none. As are the next two */
    struct slice progress;
    struct slice errors;
    bool matches; /* JSCAN only: the filter selects it */
    /* SHOW only: it is in no queue yet, and waits for that many jobs. */
    bool waits;
    int32_t pending;
    struct job_key batch; /* SHOW only; id 0: none */
    int32_t batch_retry;
    /* Set for a retained job, as are deliveries, error and worker. */
    bool retained;
    int64_t finished_at;
    int64_t keep_until;
    struct slice worker; /* the worker that acknowledged it, or that has it; ptr NULL: unknown */
    struct slice result; /* ptr NULL: none */
};

/* Reads a row of show_jobs, scan_*, or peek_* (whose last column is the body). */
struct job_view job_view_read(const PGresult *rows, int row);
/* The same for show_retained and scan_retained. */
struct job_view job_view_read_retained(const PGresult *rows, int row);
enum job_view_state job_view_state(const struct job_view *v);
/* Replies the array of SHOW. */
void job_view_reply_all(struct req *r, const struct job_view *v);
/* Replies the ID as a status. */
void job_view_reply_id(struct req *r, const struct job_view *v);
/* Replies the ID of a batch, which is that of its completion job and contains the RETRY of that job. */
void job_view_reply_batch(struct req *r, struct job_key key, int32_t retry);
/* Replies [queue, id, body]. */
void job_view_reply_short(struct req *r, const struct job_view *v);

#endif
