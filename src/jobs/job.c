/* The life of a job: how its changes affect counters, events, statistics, waiting clients, peers and groups. */
#include "jobs/job.h"

#include "base/stats.h"
#include "jobs/claim_ahead.h"
#include "jobs/expire.h"
#include "jobs/flows.h"
#include "jobs/groups.h"
#include "jobs/waitjob.h"
#include "pg/params.h"
#include "queue/job_events.h"
#include "queue/lease.h"
#include "queue/observer.h"
#include "queue/queue_limits.h"
#include "queue/queue_ready.h"

static const struct entry_effects {
    bool is_new;        /* it was not among the jobs of the queue */
    bool is_counted;    /* in queue.jobs_in */
    bool is_redelivery; /* it may be before the scan position */
    uint64_t *counter;  /* in `stats`; NULL: none */
    int64_t from;       /* the state that it has left, as in queue_count_state(); 0: another */
} entries[JOB_ENTRIES] = {
    [JOB_ADDED] = { true, true, false, &stats.jobs_added, 0 },
    [JOB_ARRIVED] = { true, true, false, NULL, 0 },
    [JOB_REVIVED] = { true, true, false, &stats.jobs_revived, 0 },
    [JOB_PUT_BACK] = { true, false, true, &stats.jobs_released, 0 },
    [JOB_RELEASED] = { false, false, true, &stats.jobs_released, 0 },
    [JOB_RETURNED] = { false, true, true, NULL, 0 },
    [JOB_WOKEN] = { false, true, true, NULL, TIME_DELAYED },
    [JOB_UNBLOCKED] = { false, true, false, NULL, TIME_WAITING },
};

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
    [JOB_CANCELLED] = { EVENT_CANCELLED, NULL },
};

static void tell(const struct queue *q, enum job_event event, const struct job_row *job) {
    if (!events_wanted(q))
        return;
    if (job->id.ptr != NULL)
        event_of_id(q, event, job->id);
    else if (job->expires_at != 0)
        event_of_job(q, event, job->key, job->expires_at, job->retry);
}

/* ---- entering ---- */

/* In an empty queue only jobs that are not committed yet can be earlier. Jobs with negative ids do not expire in the
 * order of ids. */
static void job_count_new(struct queue *q, const struct job_row *job, enum job_entry why) {
    if (why == JOB_ADDED && job->key.id > 0 && (q->counters.total == 0 || job->key.id <= q->swept_id))
        expire_in_order_from(q, job->key.id);
    queue_count_total(q, 1);
    tell(q, EVENT_ADDED, job);
}

static void job_make_ready(struct queue *q, const struct job_row *job, const struct entry_effects *effects) {
    if (effects->is_counted)
        queue_count_in(q, 1);
    if (job->leased)
        return;
    claim_ahead_note_ready(q, job->key);
    if (effects->is_redelivery || job->key.id < 0)
        queue_job_returned(q, job->key);
    else
        queue_job_ready(q, job->key);
}

void job_entered(const struct job_row *job, enum job_entry why) {
    struct queue *q = job->q != NULL ? job->q : queue_find_id(job->key.queue_id);
    const struct entry_effects *effects = &entries[why];

    if (effects->counter != NULL)
        ++*effects->counter;
    if (job->wake_at != 0)
        expire_wake_at(job->wake_at);
    if (q == NULL) {
        OBSERVE(uncounted, job->key.queue_id);
        OBSERVE(returned, job->key);
        return;
    }
    if (effects->is_new)
        job_count_new(q, job, why);
    (void)queue_count_state(q, effects->from, -1);
    if (job->group.ptr != NULL) {
        queue_count_waiting(q, 1);
        group_joined(job->key, job->group);
    } else if (!job->delayed) {
        job_make_ready(q, job, effects);
    } else {
        queue_count_delayed(q, 1);
        if (!effects->is_new)
            limits_slot_freed(q);
    }
}

/* ---- leases ---- */

/* If the lease has ended just now, the job is not yet counted as queued. */
void job_claimed(struct queue *q, struct job_key key) {
    if (!lease_replace(key.id))
        queue_count_len(q, -1);
    position_forget_key(&q->scan, key);
}

/* Another server may watch the lease or the delay. */
void job_withdrawn(struct job_key key, int64_t row_until, bool was_queued) {
    struct queue *q = queue_find_id(key.queue_id);

    if (queue_end_lease(key, row_until))
        return;
    if (!was_queued && row_until != TIME_DELAYED && row_until != TIME_WAITING)
        OBSERVE(lease_ended, key, row_until, false);
    else if (q == NULL)
        OBSERVE(uncounted, key.queue_id);
    else if (!queue_count_state(q, row_until, -1))
        queue_count_len(q, -1);
}

void job_requeued(struct job_key key, int64_t row_until, bool was_queued, int64_t wake_at) {
    job_withdrawn(key, row_until, was_queued);
    job_entered(&(struct job_row){ .key = key, .delayed = wake_at != TIME_NEVER, .wake_at = wake_at },
                JOB_RETURNED);
}

void job_failed(struct job_key key) {
    struct queue *q = queue_find_id(key.queue_id);

    stats.jobs_failed++;
    if (q != NULL)
        queue_count_failed(q);
}

/* ---- leaving ---- */

static void job_tell_ended(struct queue *q, const struct job_row *job, enum job_exit why) {
    if (exits[why].counter != NULL)
        ++*exits[why].counter;
    if (q != NULL && why == JOB_DEAD)
        queue_count_died(q);
    if (why == JOB_TAKEN)
        tell(q, EVENT_DELIVERED, job);
    tell(q, exits[why].event, job);
    if (waitjob_is_asked())
        waitjob_ended(job->key, why, job->result);
}

void job_left(const struct job_row *job, enum job_exit why) {
    struct queue *q = queue_find_id(job->key.queue_id);

    queue_count_gone(job->key, job->queued_since);
    if (q != NULL && exits[why].counter == &stats.jobs_acked)
        queue_count_acked(q);
    if (q != NULL && job->is_dead_job)
        queue_count_dead(q, 1);
    job_tell_ended(q, job, why);
    if (job->group.ptr != NULL)
        group_next(job->key.queue_id, job->group);
    if (job->in_flow)
        flow_job_ended(job->key.id);
}

void jobs_left(struct queue *q, int64_t count) {
    queue_count_len(q, -count);
    queue_count_total(q, -count);
}

void jobs_arrived(struct queue *q, struct job_key first, int64_t count) {
    queue_count_total(q, count);
    queue_count_in(q, count);
    queue_jobs_arrived(q, first, count);
}

void job_never_ran(const struct job_row *job, enum job_exit why) {
    struct queue *q = queue_find_id(job->key.queue_id);

    if (q != NULL && job->is_dead_job)
        queue_count_dead(q, 1);
    job_tell_ended(q, job, why);
}

void jobs_count_dead(int32_t queue_id, int64_t change) {
    struct queue *q = queue_find_id(queue_id);

    if (q != NULL)
        queue_count_dead(q, change);
    else
        OBSERVE(uncounted, queue_id);
}
