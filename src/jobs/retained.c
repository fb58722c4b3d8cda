/* Retained jobs: ACKJOB after a lost connection, SHOW, and emptying their tables. */
#include "jobs/retained.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/dead_jobs.h"
#include "jobs/id_list.h"
#include "jobs/job_view.h"
#include "queue/lease.h"

static void retained_set_now(struct params *p) {
    params_set_time(p, 3, clock_db());
}

/* ---- ACKJOB after a lost connection ---- */

void retained_look_again(struct req *r) {
    r->task.op = &op_look_retained;
    batch_add(&r->task);
}

struct retained_place {
    int64_t id;
    size_t at;
};

static int compare_places(const void *a, const void *b) {
    const struct retained_place *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Marks each ID that an earlier argument named too. The caller frees the result. */
static bool *find_repeated(const struct job_ids *ids) {
    struct retained_place *places = xmalloc(ids->count * sizeof *places);
    bool *repeated = xcalloc(ids->count, sizeof *repeated);

    for (size_t at = 0; at < ids->count; at++)
        places[at] = (struct retained_place){ ids->keys[at].id, at };
    qsort(places, ids->count, sizeof *places, compare_places);
    for (size_t i = 1; i < ids->count; i++)
        repeated[places[i].at] = places[i].id == places[i - 1].id;
    free(places);
    return repeated;
}

/* Columns: ordinal, lives, finished_at, node, result. A job without a trace that still has its lease here was ended
 * by the first try. The second try has counted the jobs that it ended. */
static void look_again_row(struct job_ids *ids, size_t at, const PGresult *rows, int row) {
    bool leased;

    if (job_ids_is_stale(ids, at))
        return;
    leased = lease_remove(ids->keys[at].id);
    if (row_null(rows, row, COL_LOOK_JOBS_FINISHED_AT))
        ids->hits += leased;
    else
        ids->hits += row_int2(rows, row, COL_LOOK_JOBS_NODE) == node_self()->number &&
                     row_time(rows, row, COL_LOOK_JOBS_FINISHED_AT) >= ids->sent_us;
}

/* The result has a row for each ID, in their order. */
static void look_again_end(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);
    bool *repeated = find_repeated(job_ids(r));

    for (size_t at = 0; at < job_ids(r)->count; at++)
        if (!repeated[at])
            look_again_row(job_ids(r), at, rows, (int)(t->first_row + at));
    free(repeated);
    job_ids_unhold(r);
    dead_delete_or_reply(r);
}

OPERATION(look_retained, .begin = retained_set_now, .encode = job_ids_encode, .on_end = look_again_end,
          .fail = job_ids_fail);

/* ---- SHOW ---- */

void retained_show(struct req *r) {
    r->task.op = &op_show_retained;
    batch_add(&r->task);
}

static void retained_show_row(struct task *t, const PGresult *rows, int row) {
    struct job_view v = job_view_read_retained(rows, row);

    job_ids(REQ_OF_TASK(t))->hits++;
    job_view_reply_all(REQ_OF_TASK(t), &v);
}

static void retained_show_end(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);

    (void)rows;
    if (job_ids(r)->hits == 0)
        reply_null_bulk(r);
    req_end(r);
}

OPERATION(show_retained, .begin = retained_set_now, .encode = job_ids_encode, .on_row = retained_show_row,
          .on_end = retained_show_end, .fail = req_fail_task);

/* ---- emptying the tables ---- */

static struct task over = { .op = &op_expired_retained, .rows = 1 };
static struct task empty = { .op = &op_empty_retained, .rows = 1 };

/* Only the leader does it. Two servers at the same time would do no harm. */
void retained_tick(void) {
    if (node_is_leader() && over.state == TASK_IDLE && empty.state == TASK_IDLE)
        batch_add(&over);
}

static void over_begin(struct params *p) {
    params_set_time(p, 0, clock_db());
}

static void over_done(struct task *t, const PGresult *rows) {
    (void)t;
    if (PQntuples(rows) > 0)
        batch_add(&empty);
}

OPERATION(expired_retained, .alone = true, .begin = over_begin, .on_end = over_done);

/* Must be the last statement of its transaction, because of its locks. */
OPERATION(empty_retained, .alone = true);
