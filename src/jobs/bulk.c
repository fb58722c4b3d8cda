/* All queued jobs of a queue, page by page: deletes them, or sets when they expire. */
#include "jobs/bulk.h"

#include <stdlib.h>

#include "base/clock.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/claim_ahead.h"
#include "jobs/expire.h"
#include "jobs/job.h"
#include "jobs/take.h"

/* Rows of one statement. If a result has as many, there may be more. */
#define BULK_PAGE 1000

static struct list_pages *pages_of(struct task *t) {
    return CONTAINER_OF(t, struct list_pages, task);
}

static void bulk_send(struct list_pages *p) {
    task_reads(&p->task, TASK_CHANGED_ROW * queue_rows_read(p->q, 0, BULK_PAGE, false));
    batch_add(&p->task);
}

static void bulk_end(struct list_pages *p, const struct op_error *error) {
    p->q->users--;
    p->ended(p, error);
}

/* ---- all kinds of pages ---- */

static void bulk_page_encode(struct params *params, struct task *t) {
    const struct list_pages *p = pages_of(t);

    params_set_int4(params, 0, p->q->id);
    params_set_int2(params, 1, p->after.rank);
    params_set_int8(params, 2, p->after.id);
    params_set_int2(params, 3, p->until.rank);
    params_set_int8(params, 4, p->until.id);
    params_set_int4(params, 5, BULK_PAGE);
    params_set_time(params, 6, clock_db());
}

/* Columns: rank, id, end_rank, end_id. The first page sets the last key of all pages. */
static void read_keys(struct list_pages *p, const PGresult *rows) {
    int n = PQntuples(rows);

    if (n > 0 && p->until.rank == INT16_MAX)
        p->until = row_key(p->q->id, rows, 0, COL_EMPTY_LIST_END_RANK);
    for (int i = 0; i < n; i++) {
        struct job_key key = row_key(p->q->id, rows, i, COL_EMPTY_LIST_RANK);

        if (job_key_before(p->after, key))
            p->after = key;
    }
    p->jobs += n;
}

static bool is_last(const PGresult *rows) {
    return PQntuples(rows) < BULK_PAGE;
}

static void bulk_go_on(struct list_pages *p, const PGresult *rows) {
    if (is_last(rows))
        bulk_end(p, NULL);
    else
        bulk_send(p);
}

static void bulk_page_fail(struct task *t, const struct op_error *error) {
    position_end(&pages_of(t)->scan);
    bulk_end(pages_of(t), error);
}

/* A repeated page does not change a job twice. bootstrap.c reads the counters again. */
static bool page_again(struct task *t, bool unknown) {
    position_end(&pages_of(t)->scan);
    pages_of(t)->lost |= unknown;
    return true;
}

static void on_jobs_are_back(struct task *t) {
    bulk_send(pages_of(t));
}

void bulk_begin(struct list_pages *p) {
    p->after = (struct job_key){ .rank = INT16_MIN, .id = INT64_MIN };
    p->until = (struct job_key){ .rank = INT16_MAX, .id = INT64_MAX };
    p->jobs = 0;
    p->lost = false;
    task_init(&p->task, p->op);
    p->task.turn.user = p->user;
    row_waiter_init(&p->row_waiter, &p->task, on_jobs_are_back, bulk_page_fail);
    list_init(&p->scan.node);
    p->q->users++;
    if (claim_ahead_return(p->q, &p->row_waiter))
        bulk_send(p);
}

/* ---- deleting ---- */

void bulk_job_deleted(struct job_key key, const PGresult *rows, int row, int col) {
    job_left(&(struct job_row){ .key = key,
                                .queued_since = row_time(rows, row, col),
                                .expires_at = row_time(rows, row, col + 1),
                                .retry = row_int4(rows, row, col + 2),
                                .group = row_bytes_or_null(rows, row, col + 3),
                                .in_flow = !row_null(rows, row, col + 4) },
             JOB_CLEARED);
}

void bulk_jobs_deleted(struct queue *q, const PGresult *rows, int rank_col, int col) {
    size_t count = (size_t)PQntuples(rows);
    struct job_key *keys = xmalloc((count + 1) * sizeof *keys);

    for (size_t i = 0; i < count; i++) {
        keys[i] = row_key(q->id, rows, (int)i, rank_col);
        bulk_job_deleted(keys[i], rows, (int)i, col);
    }
    position_remove_keys(&q->scan, keys, count);
    free(keys);
}

static void empty_encode(struct params *params, struct task *t) {
    struct list_pages *p = pages_of(t);

    take_note_scan(p->q, &p->scan);
    bulk_page_encode(params, t);
}

/* Moves the scan position. Does nothing if that position was before this page: ready jobs may be in between. */
static void bulk_note_page(struct list_pages *p, struct job_key from, bool is_only, const PGresult *rows) {
    bool last = is_last(rows);

    if (!job_key_before(p->scan.start, from))
        position_advance(&p->q->scan, &p->scan, last ? &p->until : &p->after, last && is_only);
    position_end(&p->scan);
}

/* Columns: those of read_keys(), then those of bulk_job_deleted(). */
static void empty_done(struct task *t, const PGresult *rows) {
    struct list_pages *p = pages_of(t);
    struct job_key from = p->after;
    bool is_only = p->until.rank == INT16_MAX;

    bulk_jobs_deleted(p->q, rows, COL_EMPTY_LIST_RANK, COL_EMPTY_LIST_READY_AT);
    read_keys(p, rows);
    bulk_note_page(p, from, is_only, rows);
    bulk_go_on(p, rows);
}

OPERATION(empty_list, .alone = true, .encode = empty_encode, .on_end = empty_done, .fail = bulk_page_fail,
          .again = page_again);
/* The columns are the same, but queued_since is in the place of ready_at. */
OPERATION(empty_queue, .alone = true, .encode = empty_encode, .on_end = empty_done, .fail = bulk_page_fail,
          .again = page_again);

/* ---- setting the expiry ---- */

static void date_encode(struct params *params, struct task *t) {
    const struct list_pages *p = pages_of(t);

    bulk_page_encode(params, t);
    params_set_time(params, 7, p->expires_at);
    params_set_time_or_null(params, 8, p->wake_at);
    params_set_time(params, 9, p->before);
}

static void date_done(struct task *t, const PGresult *rows) {
    struct list_pages *p = pages_of(t);

    if (PQntuples(rows) > 0 && p->wake_at != TIME_NEVER)
        expire_wake_at(p->wake_at);
    read_keys(p, rows);
    bulk_go_on(p, rows);
}

OPERATION(date_list, .alone = true, .encode = date_encode, .on_end = date_done, .fail = bulk_page_fail,
          .again = page_again);
