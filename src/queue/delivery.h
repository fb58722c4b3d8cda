#ifndef DELIVERY_H
#define DELIVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "base/job_key.h"
#include "net/client.h"
#include "net/request.h"
#include "queue/queue.h"

/*
 * Deliveries of jobs to clients: replies with jobs, their leases, and deliveries whose reply is not written to the
 * socket yet.
 */

/* A job that is being delivered. */
struct job {
    struct queue *q;
    struct job_key key;
    int64_t ready_at; /* end of the lease in the row */
    int64_t lease_us; /* length of the lease */
    int64_t due_us;   /* clock_db() when it became due; 0: it was delivered before */
    bool last;        /* it is the last attempt */
    int64_t expires_at;
    int32_t retry;
    int32_t nacks;
    int32_t additional_deliveries;
    struct slice body;
    struct slice headers; /* ptr NULL: none */
    /* Only for a job that was removed; undelivered.h. */
    struct slice group; /* ptr NULL: no group */
    int32_t deliveries;
    int row;              /* its row in `rows`, for other columns */
    const PGresult *rows; /* NULL: the job never was a row */
};

/* A delivery whose reply is not written to the socket yet. The client has a list of them, client.h. */
struct delivery {
    struct job_key key;
    int64_t until;            /* end of the lease */
    struct undelivered *copy; /* copy of a job that was removed; undelivered.h */
    const struct req *
        holder; /* request whose reply is not in the output yet, because it is not complete, or others are before it; or NULL */
    uint64_t offset; /* then: position in the client's output at or before the start of the reply */
};

/* The ID of a job as clients see it. */
void job_format_id(char out[JOBID_LEN], struct job_key key, int64_t expires_at, int32_t retry);

/* Replies jobs[count] to r of client c. Their leases begin now. They are put back if c disconnects before
 * the reply is written. */
enum { JOBS_WITH_COUNTERS = 1, JOBS_WITH_TOKENS = 2, JOBS_WITH_HEADERS = 4 };
void jobs_deliver(struct req *r, struct client *c, const struct job *jobs, size_t count, unsigned form);
/* Begins the leases of claimed jobs for client c. jobs_deliver() does it, too. */
void jobs_lease(struct client *c, const struct job *jobs, size_t count);
/* Notes a delivery that is appended to the reply of r next. r->client must be connected. */
void delivery_note_unsent(struct req *r, struct delivery d);
/* The reply of r is appended to the output of c next. */
void deliveries_placed(struct client *c, const struct req *r);
/* Counts deliveries, and notes how long the jobs were ready. jobs_deliver() does it, too. */
void jobs_note_delivered(const struct job *jobs, size_t count);

#endif
