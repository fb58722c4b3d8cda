#ifndef JOB_H
#define JOB_H

#include <stdint.h>
#include <libpq-fe.h>
#include "base/job_key.h"
#include "base/util.h"

/*
 * The life of a job. After the commit, a path that ends a job calls this module. It updates the counters and statistics,
 * sends the event, tells WAITJOB clients and peers, and starts the next job of the group. A table in job.c says how
 * the reasons differ.
 */

/* Why a job left its queue. The numbers are part of messages between servers. */
enum job_exit {
    JOB_DONE = 1, /* acknowledged, and deleted */
    JOB_KEPT,     /* acknowledged, and retained */
    JOB_DELETED,  /* by its ID */
    JOB_DEAD,     /* a dead letter, or moved to its dead-letter queue */
    JOB_CLEARED,  /* by a command about its list: DEL, LTRIM ... */
    JOB_EXPIRED,
    JOB_TAKEN, /* popped, or moved to another list */
    JOB_EXITS, /* their number, and 1 */
};

/* A job whose row a statement of this server has changed. */
struct job_row {
    struct job_key key;
    int64_t queued_since; /* as in queue_count_gone() */
    int64_t expires_at;   /* 0: unknown, and without `id` there is no event */
    int32_t retry;
    struct slice id;     /* the ID as a client gave it; ptr NULL: made from the other fields */
    struct slice group;  /* ptr NULL: none */
    struct slice result; /* JOB_KEPT only; ptr NULL: none */
};

/* The job left its queue, and that is committed. */
void job_left(const struct job_row *job, enum job_exit why);

/* Reads the group column, which is null for a job without a group. */
struct slice job_group(const PGresult *rows, int row, int col);

#endif
