#ifndef JOB_END_H
#define JOB_END_H

#include <stdint.h>
#include <libpq-fe.h>
#include "base/job_key.h"
#include "base/util.h"
#include "jobs/waitjob.h"

/*
 * A job leaves its queue, for any reason. This updates the counters, wakes WAITJOB clients, informs other servers,
 * and starts the next job of the group. Events and statistics depend on the reason, so the caller handles them.
 */
struct job_end {
    struct job_key key;
    int64_t queued_since; /* as in queue_count_gone() */
    struct slice group;   /* ptr NULL: none */
    enum job_end_kind how;
    struct slice result; /* JOB_KEPT only; ptr NULL: none */
};

/* This server ended the job, and the transaction is committed. */
void job_ended(const struct job_end *end);

/* Reads the group column, which is null for a job without a group. */
struct slice job_end_group(const PGresult *rows, int row, int col);

#endif
