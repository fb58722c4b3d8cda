#ifndef JOB_END_H
#define JOB_END_H

#include <stdint.h>
#include <libpq-fe.h>
#include "base/jobid.h"
#include "base/util.h"
#include "jobs/waitjob.h"

/*
 * A job leaves its queue, whatever ends it: the counters, the clients that wait for its end (WAITJOB), other servers, and
 * the next job of its group are dealt with here. Events and statistics differ by what ended it, and are the caller's.
 */
struct job_end {
    struct job_key key;
    int64_t queued_since; /* as queue_count_gone() takes it */
    struct slice group;   /* ptr NULL: none */
    enum job_end_kind how;
    struct slice result; /* of JOB_KEPT; ptr NULL: none */
};

/* By this server's doing, and committed. */
void job_ended(const struct job_end *end);

/* A column that is null for a job without a group. */
struct slice job_end_group(const PGresult *rows, int row, int col);

#endif
