/* The dead jobs of a queue: revived by REVIVE, deleted by DELDEAD and at the end of their retention. */
#include "jobs/dead_queue.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/node.h"
#include "base/saturate.h"
#include "batch/batch.h"
#include "batch/commit_marker.h"
#include "batch/operations.h"
#include "jobs/job.h"
#include "queue/observer.h"
#include "queue/queue_store.h"
#include "queue/settings.h"

/* Jobs of one statement. */
#define DEAD_PAGE 500

/* The work of a request on a queue. */
struct dead_work {
    struct queue *q;
    struct dead_revive how;
    struct row_waiter row_waiter; /* while the other queue has no row */
    struct job_key after;
    int64_t start_us; /* with a rate: when the first job is ready */
    int64_t done;
};

static struct dead_work *work_of(const struct task *t) {
    return REQ_OF_TASK(t)->data;
}

static void dead_work_release(struct dead_work *w) {
    w->q->users--;
    if (w->how.to != NULL)
        w->how.to->users--;
}

static void dead_work_fail(struct task *t, const struct op_error *err) {
    dead_work_release(work_of(t));
    req_fail_task(t, err);
}

/* The page is done, and the next pages are not. */
static void dead_work_answer_lost(struct task *t) {
    dead_work_release(work_of(t));
    req_maybe_done(REQ_OF_TASK(t));
}

/* A second try of a page takes the next jobs, which COUNT may exclude. */
static bool dead_work_again(struct task *t, bool unknown) {
    struct dead_work *w = work_of(t);

    if (!unknown || w->how.filter.count == INT64_MAX)
        return true;
    dead_work_release(w);
    return req_again_if_undone(t, unknown);
}

static struct dead_work *dead_work_new(struct req *r, struct queue *q, const struct dead_revive *how) {
    struct dead_work *w = req_alloc(r, sizeof *w);

    *w = (struct dead_work){ .q = q, .how = *how, .after = { q->id, INT16_MIN, 0 }, .start_us = clock_db() };
    q->users++;
    if (how->to != NULL)
        how->to->users++;
    r->data = w;
    r->task.rows = 1;
    row_waiter_init(&w->row_waiter, &r->task, NULL, dead_work_fail);
    return w;
}

/* A page of a search looks at rows that it does not take. */
static int32_t rows_to_look_at(const struct dead_filter *f) {
    bool searches = job_filter_selects(&f->match) || f->older >= 0 || f->newer >= 0;

    return searches ? DEAD_PAGE : (int32_t)int64_least(f->count, DEAD_PAGE);
}

static void dead_page_send(struct req *r) {
    const struct dead_filter *f = &((const struct dead_work *)r->data)->how.filter;

    task_reads(&r->task, rows_to_look_at(f) + TASK_CHANGED_ROW * int64_least(f->count, DEAD_PAGE));
    batch_add(&r->task);
}

static void dead_page_encode(struct params *p, struct task *t) {
    const struct dead_work *w = work_of(t);
    const struct dead_filter *f = &w->how.filter;

    if (f->count < INT64_MAX)
        commit_marker_always(t);
    params_set_int4(p, 0, w->after.queue_id);
    params_set_int2(p, 1, w->after.rank);
    params_set_int8(p, 2, w->after.id);
    params_set_int4(p, 3, rows_to_look_at(f));
    params_set_time(p, 4, clock_db());
    params_set_int8(p, 5, int64_least(f->count, DEAD_PAGE));
    params_set_bytea_or_null(p, 6, f->match.error);
    params_set_int4_or_null(p, 7, f->older);
    params_set_int4_or_null(p, 8, f->newer);
    params_set_jsonb_or_null(p, 9, f->match.headers);
}

/* Counts the jobs of a page, and continues after the last job that the statement looked at. Without such a job the work
 * is done. */
static void dead_page_done(struct task *t, int64_t jobs, bool more, struct job_key last) {
    struct req *r = REQ_OF_TASK(t);
    struct dead_work *w = r->data;

    w->done += jobs;
    if (w->how.filter.count < INT64_MAX)
        w->how.filter.count -= jobs;
    if (more && w->how.filter.count > 0) {
        w->after = last;
        dead_page_send(r);
        return;
    }
    dead_work_release(w);
    req_int(r, w->done);
}

/* ---- REVIVE ---- */

void dead_revive_queue(struct req *r, struct queue *q, const struct dead_revive *how) {
    struct dead_work *w = dead_work_new(r, q, how);

    r->task.op = &op_revive_queue;
    if (how->to != NULL)
        queue_prepare(how->to, &w->row_waiter);
    else
        dead_page_send(r);
}

static void revive_queue_encode(struct params *p, struct task *t) {
    const struct dead_work *w = work_of(t);
    int64_t each_us = w->how.rate > 0 ? US_PER_S / w->how.rate : 0;

    dead_page_encode(p, t);
    params_set_int4_or_null(p, 10, w->how.to != NULL ? w->how.to->id : -1);
    params_set_time_or_null(p, 11, w->how.rate > 0 ? w->start_us + w->done * each_us : TIME_NEVER);
    params_set_int8(p, 12, each_us);
}

static void revived(const struct dead_work *w, struct job_key key, int64_t wake_at) {
    struct job_row job = { .key = key, .delayed = w->how.rate > 0, .wake_at = wake_at };

    jobs_count_dead(w->q->id, -1);
    if (w->how.to != NULL)
        job.key.queue_id = w->how.to->id;
    job_entered(&job, JOB_REVIVED);
}

/* Columns: rank, id, wake_at. */
static void revive_queue_end(struct task *t, const PGresult *rows) {
    const struct dead_work *w = work_of(t);
    int n = PQntuples(rows);
    struct job_key last = w->after;

    for (int i = 0; i < n; i++) {
        struct job_key key = row_key(w->q->id, rows, i, COL_REVIVE_QUEUE_RANK);

        if (row_null(rows, i, COL_REVIVE_QUEUE_WAKE_AT))
            last = key;
        else
            revived(w, key, row_time(rows, i, COL_REVIVE_QUEUE_WAKE_AT));
    }
    dead_page_done(t, n > 0 ? n - 1 : 0, n > 0, last);
}

OPERATION(revive_queue, .alone = true, .encode = revive_queue_encode, .on_end = revive_queue_end,
          .fail = dead_work_fail, .again = dead_work_again, .answer_lost = dead_work_answer_lost);

/* ---- DELDEAD ---- */

void dead_delete_queue(struct req *r, struct queue *q, const struct dead_filter *filter) {
    (void)dead_work_new(r, q, &(struct dead_revive){ .filter = *filter });
    r->task.op = &op_delete_queue_dead;
    dead_page_send(r);
}

static void delete_queue_end(struct task *t, const PGresult *rows) {
    struct dead_work *w = work_of(t);
    int64_t deleted;

    if (PQntuples(rows) == 0) {
        dead_page_done(t, 0, false, w->after);
        return;
    }
    deleted = row_int8(rows, 0, COL_DELETE_QUEUE_DEAD_DELETED);
    jobs_count_dead(w->q->id, -deleted);
    dead_page_done(t, deleted, true, row_key(w->q->id, rows, 0, COL_DELETE_QUEUE_DEAD_RANK));
}

OPERATION(delete_queue_dead, .alone = true, .encode = dead_page_encode, .on_end = delete_queue_end,
          .fail = dead_work_fail, .again = dead_work_again, .answer_lost = dead_work_answer_lost);

/* ---- retention ---- */

/* Jobs of a queue, and queues, that one statement deletes. More queues take turns. */
#define RETENTION_JOBS 1000
#define RETENTION_QUEUES 100
/* Maximum of queues examined in a turn. */
#define RETENTION_LOOKS 20000

struct retention {
    struct task task;
    int32_t queue_id;
    int64_t died_at; /* jobs that died later are kept */
};

static size_t retentions; /* statements that run */

static void retention_start(const struct queue *q, int64_t seconds) {
    struct retention *d = xcalloc(1, sizeof *d);

    d->queue_id = q->id;
    d->died_at = clock_db() - seconds * US_PER_S;
    task_init(&d->task, &op_expire_dead);
    retentions++;
    batch_add(&d->task);
}

/* Only the leader does it. Two servers at the same time would do no harm. */
void dead_retention_tick(void) {
    static uint32_t next_slot;

    if (!node_is_leader() || retentions > 0)
        return;
    for (uint32_t left = queue_slots() < RETENTION_LOOKS ? queue_slots() : RETENTION_LOOKS;
         left > 0 && retentions < RETENTION_QUEUES; left--) {
        const struct queue *q = queue_at(next_slot++ % queue_slots());
        int64_t seconds = setting_in_force(q, SETTING_DEAD_RETENTION);

        if (q != NULL && q->id != 0 && q->counters.dead > 0 && seconds > 0)
            retention_start(q, seconds);
    }
}

static void retention_begin(struct params *p) {
    params_set_int4(p, 2, RETENTION_JOBS);
}

static void retention_encode(struct params *p, struct task *t) {
    const struct retention *d = CONTAINER_OF(t, struct retention, task);

    params_int4(p, 0, d->queue_id);
    params_time(p, 1, d->died_at);
}

static void retention_end(struct task *t) {
    retentions--;
    free(CONTAINER_OF(t, struct retention, task));
}

static void retention_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++)
        jobs_count_dead(row_int4(rows, i, COL_EXPIRE_DEAD_QUEUE_ID), -1);
    for (size_t i = 0; i < count; i++)
        retention_end(tasks[i]);
}

static void retention_fail(struct task *t, const struct op_error *err) {
    (void)err;
    retention_end(t);
}

OPERATION(expire_dead, .begin = retention_begin, .encode = retention_encode, .done = retention_done,
          .fail = retention_fail);
