/* CANCEL: ends jobs that wait, and tells the workers of running jobs. */
#include "commands/cmd_cancel.h"

#include "base/clock.h"
#include "base/node.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "jobs/flows.h"
#include "jobs/id_list.h"
#include "jobs/job.h"
#include "jobs/undelivered.h"
#include "queue/job_events.h"
#include "queue/lease.h"
#include "queue/queue.h"

static void cancel_begin(struct params *p) {
    params_set_time(p, 3, clock_db());
    params_set_int2(p, 4, (int16_t)node_self()->number);
}

/* The end of the lease ends the job. If another server gave the lease, this server watches it from now on. The lease of
 * a job ahead ends now, because no worker has the job. */
static void cancel_running(struct job_key key, int64_t until) {
    if (lease_is_ahead(key, until)) {
        undelivered_release(key, until, true, NULL, NULL);
        return;
    }
    if (!lease_is_own(key.id, until)) {
        job_withdrawn(key, until, false);
        if (until != TIME_NEVER)
            lease_add(key, until);
    }
    lease_set_last(key.id);
}

static void cancel_found(struct job_key key, const PGresult *rows, int row) {
    int64_t expires_at = row_time(rows, row, COL_CANCEL_JOBS_EXPIRES_AT);
    int32_t retry = row_int4(rows, row, COL_CANCEL_JOBS_RETRY);

    if (row_null(rows, row, COL_CANCEL_JOBS_RUNNING_UNTIL)) {
        job_left(&(struct job_row){ .key = key,
                                    .queued_since = row_time(rows, row, COL_CANCEL_JOBS_QUEUED_SINCE),
                                    .expires_at = expires_at,
                                    .retry = retry,
                                    .group = row_bytes_or_null(rows, row, COL_CANCEL_JOBS_GROUP_KEY),
                                    .in_flow = !row_null(rows, row, COL_CANCEL_JOBS_IN_FLOW) },
                 JOB_CANCELLED);
        return;
    }
    cancel_running(key, row_time(rows, row, COL_CANCEL_JOBS_RUNNING_UNTIL));
    event_of_cancel(row_bytes_or_null(rows, row, COL_CANCEL_JOBS_QUEUE), key, expires_at, retry);
}

static void cancel_row(struct task *t, const PGresult *rows, int row) {
    struct req *r = REQ_OF_TASK(t);
    struct job_key key = job_ids_key(t, rows, row);

    job_ids(r)->hits++;
    if (!row_null(rows, row, COL_CANCEL_JOBS_IS_WAITING))
        flow_job_ended(key.id);
    else
        cancel_found(key, rows, row);
}

OPERATION(cancel_jobs, .names_jobs = true, .begin = cancel_begin, .encode = job_ids_encode_marked,
          .on_row = cancel_row, .on_end = job_ids_reply_hits, .fail = job_ids_fail,
          .again = job_ids_again_unsure, .shares = true, .answer_lost = job_ids_unknown);

void cancel_send(struct req *r) {
    job_ids_send(r, &op_cancel_jobs);
}

void cmd_cancel(struct req *r) {
    if (!job_ids_or_reply(r, 1, r->argc))
        return;
    if (job_ids(r)->count > 0)
        cancel_send(r);
    else
        req_int(r, 0);
}
