#ifndef JOB_VIEW_H
#define JOB_VIEW_H

#include <libpq-fe.h>
#include "base/jobid.h"
#include "net/req.h"

/* A job as SHOW, QPEEK and JSCAN see it. */
struct job_view {
    struct job_key key;
    int64_t ready_at;
    int64_t expires_at;
    bool delayed;
    bool owned; /* a lease, running or ended, that was not given back */
    int32_t retry;
    int32_t delay;
    int32_t nacks;
    int32_t extras;
    int16_t replicate;
    struct slice body;
    /* Of what is shown by SHOW and JSCAN. */
    bool has_attempts; /* any of these is set: */
    int32_t deliveries;
    int32_t attempts; /* 0: no limit */
    int32_t backoff;
    struct slice deadqueue; /* ptr NULL: none */
    struct slice error;
    int64_t died_at;         /* 0: it lives */
    struct slice unique_key; /* ptr NULL: none */
    struct slice group_key;
    /* Of one that is done, and kept; deliveries and error are known as well. */
    bool finished;
    int64_t finished_at;
    int64_t keep_until;
    struct slice worker; /* who said so */
    struct slice result; /* ptr NULL: none */
};

/* Reads a row of show_jobs, peek_* (whose columns end with the body) or scan_*, whose queue_id is column col. */
struct job_view job_view_read(const PGresult *rows, int row, int col);
/* The same of show_finished or scan_finished. */
struct job_view job_view_read_finished(const PGresult *rows, int row, int col);
bool job_view_is_queued(const struct job_view *v);
/* Replies the array of SHOW. */
void job_view_reply_all(struct req *r, const struct job_view *v);
/* Replies the ID as a status. */
void job_view_reply_id(struct req *r, const struct job_view *v);
/* Replies [queue, id, body]. */
void job_view_reply_short(struct req *r, const struct job_view *v);

#endif
