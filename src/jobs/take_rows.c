/* Rows of jobs that statements have taken: reads, sorts and counts them. */
#include "jobs/take_rows.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/saturate.h"
#include "base/stats.h"
#include "jobs/row_places.h"
#include "pg/params.h"
#include "sql_gen.h"

/* A row that other software wrote may have any rank. */
static void check_rank(const struct queue *q, int16_t rank) {
    if (rank > 0 || rank < -255)
        log_warning("take", "a job of queue %d has rank %d, outside -255 to 0: its ID names no job",
                    (int)q->id, rank);
}

static void take_read(struct job *job, const PGresult *rows, int row, int col, struct queue *q) {
    *job = (struct job){
        .q = q,
        .key = row_key(q->id, rows, row, col + COL_CLAIM_SCAN_RANK),
        .ready_at = row_time(rows, row, col + COL_CLAIM_SCAN_READY_AT),
        .expires_at = row_time(rows, row, col + COL_CLAIM_SCAN_EXPIRES_AT),
        .retry = row_int4(rows, row, col + COL_CLAIM_SCAN_RETRY),
        .nacks = row_int4(rows, row, col + COL_CLAIM_SCAN_NACKS),
        .additional_deliveries = row_int4(rows, row, col + COL_CLAIM_SCAN_ADDITIONAL_DELIVERIES),
        .body = row_bytes(rows, row, col + COL_CLAIM_SCAN_BODY),
    };
    if (job->nacks == 0 && job->additional_deliveries == 0)
        job->due_us = job->ready_at;
    check_rank(q, job->key.rank);
    queue_note_body(q, job->body.len);
}

void take_read_leased(struct job *job, const PGresult *rows, int row, int col, struct queue *q,
                      int64_t since_us) {
    int32_t mark = 0, delay;

    take_read(job, rows, row, col, q);
    row_places_forget(job->key.id);
    if (!row_null(rows, row, col + COL_CLAIM_SCAN_DELAY_MARK))
        mark = row_int4(rows, row, col + COL_CLAIM_SCAN_DELAY_MARK);
    job->headers = row_jsonb_or_null(rows, row, col + COL_CLAIM_SCAN_HEADERS);
    if (job->headers.ptr != NULL)
        queue_note_body(q, job->body.len + job->headers.len);
    job->lease_us = int64_minus(job->ready_at, since_us);
    job->last = mark < 0;
    delay = mark < 0 ? -1 - mark : mark;
    if (job->due_us != 0)
        job->due_us = job_created_us(job->key.id) + delay * US_PER_S;
}

/* The columns before deliveries are those of take_read(). */
_Static_assert((int)COL_POP_FIRST_BODY == (int)COL_CLAIM_SCAN_BODY,
               "pops return the same columns as claims, and more");

struct job take_read_removed(const PGresult *rows, int row, struct queue *q) {
    struct job job;

    take_read(&job, rows, row, COL_POP_FIRST_RANK, q);
    job.group = row_bytes_or_null(rows, row, COL_POP_FIRST_GROUP_KEY);
    job.deliveries = row_int4(rows, row, COL_POP_FIRST_DELIVERIES);
    job.rows = rows;
    job.row = row;
    return job;
}

struct moved_job take_read_moved(const PGresult *rows, int i, struct queue *q) {
    return (struct moved_job){
        .ordinal = row_int4(rows, i, COL_MOVE_FIRST_ORDINAL),
        .job = { .q = q,
                 .key = row_key(q->id, rows, i, COL_MOVE_FIRST_RANK),
                 .ready_at = row_time(rows, i, COL_MOVE_FIRST_READY_AT),
                 .body = row_bytes(rows, i, COL_MOVE_FIRST_BODY),
                 .expires_at = row_time(rows, i, COL_MOVE_FIRST_EXPIRES_AT),
                 .retry = row_int4(rows, i, COL_MOVE_FIRST_RETRY),
                 .group = row_bytes_or_null(rows, i, COL_MOVE_FIRST_GROUP_KEY) },
        .to_wake_at = row_time_or(rows, i, COL_MOVE_FIRST_TO_WAKE_AT, TIME_NEVER),
        .to_expires_at = row_time(rows, i, COL_MOVE_FIRST_TO_EXPIRES_AT),
    };
}

/* The same of pop_limited.sql, which has the columns of pop_first.sql before its own. */
struct moved_job take_read_moved_limited(const PGresult *rows, int i, struct queue *q) {
    return (struct moved_job){
        .ordinal = row_int4(rows, i, COL_POP_LIMITED_ORDINAL),
        .job = take_read_removed(rows, i, q),
        .to_wake_at = row_time_or(rows, i, COL_POP_LIMITED_TO_WAKE_AT, TIME_NEVER),
        .to_expires_at = row_time(rows, i, COL_POP_LIMITED_TO_EXPIRES_AT),
    };
}

static int take_compare(const void *a, const void *b) {
    const struct job *x = a, *y = b;

    return job_key_before(x->key, y->key) ? -1 : job_key_before(y->key, x->key);
}

static int take_compare_backwards(const void *a, const void *b) {
    return take_compare(b, a);
}

void take_sort(struct job *jobs, size_t count, bool backwards) {
    qsort(jobs, count, sizeof *jobs, backwards ? take_compare_backwards : take_compare);
}

void take_count(size_t rows) {
    stats.claims++;
    stats.claimed_rows += rows;
    stats.claims_empty += rows == 0;
}
