/* The life of a job: the effects of its end on counters, events, statistics, waiting clients and groups. */
#include "jobs/job.h"

#include "base/stats.h"
#include "jobs/groups.h"
#include "jobs/waitjob.h"
#include "pg/params.h"
#include "queue/job_events.h"
#include "queue/queue.h"

static const struct exit_effects {
    enum job_event event;
    uint64_t *counter; /* in `stats`; NULL: none */
} exits[JOB_EXITS] = {
    [JOB_DONE] = { EVENT_ACKED, &stats.jobs_acked },
    [JOB_KEPT] = { EVENT_ACKED, &stats.jobs_acked },
    [JOB_DELETED] = { EVENT_ACKED, &stats.jobs_acked },
    [JOB_DEAD] = { EVENT_DEAD, &stats.jobs_dead },
    [JOB_CLEARED] = { EVENT_ACKED, NULL },
    [JOB_EXPIRED] = { EVENT_EXPIRED, &stats.jobs_expired },
    [JOB_TAKEN] = { EVENT_ACKED, NULL },
};

static void tell(const struct queue *q, enum job_event event, const struct job_row *job) {
    if (job->id.ptr != NULL)
        event_of_id(q, event, job->id);
    else if (job->expires_at != 0)
        event_of_job(q, event, job->key, job->expires_at, job->retry);
}

static void tell_exit(const struct job_row *job, enum job_exit why) {
    const struct queue *q = queue_find_id(job->key.queue_id);

    if (!events_wanted(q))
        return;
    if (why == JOB_TAKEN)
        tell(q, EVENT_DELIVERED, job);
    tell(q, exits[why].event, job);
}

void job_left(const struct job_row *job, enum job_exit why) {
    queue_count_gone(job->key, job->queued_since);
    if (exits[why].counter != NULL)
        ++*exits[why].counter;
    tell_exit(job, why);
    if (waitjob_is_asked())
        waitjob_ended(job->key, why, job->result);
    if (job->group.ptr != NULL)
        group_next(job->key.queue_id, job->group);
}

struct slice job_group(const PGresult *rows, int row, int col) {
    return row_null(rows, row, col) ? (struct slice){ NULL, 0 } : row_bytes(rows, row, col);
}
