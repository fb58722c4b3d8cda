#ifndef FAKE_JOBS_H
#define FAKE_JOBS_H

#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "config/config.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/job.h"
#include "jobs/take.h"
#include "jobs/undelivered.h"
#include "queue/lease.h"
#include "queue/queue_ready.h"

/* The job table for tests of claims: a few rows in memory. The statements of claims have the same effect on them as
 * those in sql/. A job's body is the number of its row. */
#define FAKE_JOBS 512
#define FAKE_LEASE_US (3600 * US_PER_S)

struct fake_job {
    struct job_key key;
    bool leased; /* otherwise ready */
    bool gone;
    bool cancelled;
};

static struct fake_job fake_jobs[FAKE_JOBS];
static int fake_job_count;
static int64_t fake_lease_end;
/* The values of the next claimed jobs. */
static int32_t fake_retry;
static bool fake_last_attempt;

static inline struct fake_job *fake_job_at(int32_t queue_id, int16_t rank, int64_t id) {
    for (int i = 0; i < fake_job_count; i++) {
        struct fake_job *j = &fake_jobs[i];

        if (j->key.queue_id == queue_id && j->key.rank == rank && j->key.id == id && !j->gone)
            return j;
    }
    return NULL;
}

/* ---- adding, by an operation of the tests ---- */

struct insert {
    struct task task;
    struct job_key key;
};

static inline void insert_encode(struct params *p, struct task *t) {
    struct job_key key = CONTAINER_OF(t, struct insert, task)->key;

    params_int4(p, 0, key.queue_id);
    params_int2(p, 1, key.rank);
    params_int8(p, 2, key.id);
}

/* rows: the ordinals of the jobs that were new. */
static inline void insert_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++) {
        struct job_key key = CONTAINER_OF(tasks[row_int4(rows, i, 0)], struct insert, task)->key;

        job_entered(&(struct job_row){ .key = key }, JOB_ADDED);
    }
    for (size_t i = 0; i < count; i++)
        free(CONTAINER_OF(tasks[i], struct insert, task));
}

static inline void insert_fail(struct task *t, const struct op_error *err) {
    (void)err;
    free(CONTAINER_OF(t, struct insert, task));
}

static struct op op_insert = {
    .name = "insert",
    .stmt = SQL_ADD_JOBS,
    .conn = CONN_WRITE,
    .encode = insert_encode,
    .done = insert_done,
    .fail = insert_fail,
};

/* The job is ready when the next transaction lands. */
static inline struct job_key insert_job(const char *queue, int16_t rank) {
    struct insert *i = xcalloc(1, sizeof *i);

    i->key = (struct job_key){ queue_named(queue)->id, rank, job_new_id(clock_db(), node_self()->number) };
    i->task.op = &op_insert;
    i->task.rows = 1;
    fair_node_init(&i->task.turn);
    batch_add(&i->task);
    return i->key;
}

/* ---- statements ---- */

static inline PGresult *fake_insert(const struct fake_statement *st) {
    PGresult *res = fake_rows(1);

    for (size_t i = 0; i < st->rows; i++) {
        struct job_key key = { (int32_t)fake_element(st, 0, i), (int16_t)fake_element(st, 1, i),
                               fake_element(st, 2, i) };

        if (fake_job_at(key.queue_id, key.rank, key.id) != NULL)
            continue;
        assert_true(fake_job_count < FAKE_JOBS);
        fake_jobs[fake_job_count++] = (struct fake_job){ .key = key };
        fake_set_int(res, PQntuples(res), 0, 4, (int64_t)i);
    }
    return res;
}

/* The columns from rank on. */
static inline void fake_return_job(PGresult *res, int row, int col, const struct fake_job *j) {
    const int64_t far = fake_lease_end - INT64_C(946684800000000);
    char body[16];

    fake_set_int(res, row, col, 2, j->key.rank);
    fake_set_int(res, row, col + 1, 8, j->key.id);
    fake_set_int(res, row, col + 2, 8, far);
    fake_set_int(res, row, col + 3, 8, far + FAKE_LEASE_US);
    for (int i = 4; i < 7; i++)
        fake_set_int(res, row, col + i, 4, i == 4 ? fake_retry : 0);
    snprintf(body, sizeof body, "%d", (int)(j - fake_jobs));
    fake_set_bytes(res, row, col + 7, slice_str(body));
    if (fake_last_attempt)
        fake_set_int(res, row, col + COL_CLAIM_SCAN_DELAY_MARK, 4, -1);
}

static inline struct fake_job *fake_next_ready(int32_t queue_id, struct job_key behind) {
    struct fake_job *next = NULL;

    for (int i = 0; i < fake_job_count; i++) {
        struct fake_job *j = &fake_jobs[i];

        if (j->key.queue_id == queue_id && !j->leased && !j->gone && job_key_before(behind, j->key) &&
            (next == NULL || job_key_before(j->key, next->key)))
            next = j;
    }
    return next;
}

/* The rows of a result have no order. Here the last rows come first. */
static inline PGresult *fake_walk(const struct fake_statement *st) {
    struct job_key at = { 0, (int16_t)fake_scalar(st, 1), fake_scalar(st, 2) };
    struct fake_job *found[1024];
    int count = 0, limit = (int)fake_scalar(st, 3);
    PGresult *res = fake_rows(COL_CLAIM_SCAN_PLACE + 1);

    assert_in_range(limit, 1, LENGTH(found));
    while (count < limit) {
        struct fake_job *j = fake_next_ready((int32_t)fake_scalar(st, 0), at);

        if (j == NULL)
            break;
        j->leased = true;
        at = j->key;
        found[count++] = j;
    }
    for (int i = 0; i < count; i++) {
        fake_return_job(res, i, 0, found[count - 1 - i]);
        fake_set_bytes(res, i, COL_CLAIM_SCAN_PLACE, SLICE("\0\0\0\1\0\1"));
    }
    return res;
}

static inline PGresult *fake_claim_keys(const struct fake_statement *st) {
    PGresult *res = fake_rows(COL_CLAIM_KEYS_HEADERS + 1);

    for (size_t i = st->rows; i-- > 0;) {
        int32_t queue_id = (int32_t)fake_element(st, 0, i);
        struct fake_job *j = fake_job_at(queue_id, (int16_t)fake_element(st, 1, i), fake_element(st, 2, i));
        int row = PQntuples(res);

        if (j == NULL || j->leased)
            continue;
        j->leased = true;
        fake_set_int(res, row, 0, 4, queue_id);
        fake_return_job(res, row, 1, j);
    }
    return res;
}

/* The row of a job that was cancelled. */
static inline PGresult *fake_dead_letter(const struct fake_statement *st) {
    PGresult *res = fake_rows(COL_DEAD_LETTER_JOBS_TRACEPARENT + 1);

    for (size_t i = 0; i < st->rows; i++) {
        struct fake_job *j = fake_job_at((int32_t)fake_element(st, 0, i), (int16_t)fake_element(st, 1, i),
                                         fake_element(st, 2, i));
        int row = PQntuples(res);

        assert_true(j != NULL && j->cancelled && !j->leased);
        j->gone = true;
        fake_set_int(res, row, COL_DEAD_LETTER_JOBS_ORDINAL, 4, (int64_t)i + 1);
        fake_set_int(res, row, COL_DEAD_LETTER_JOBS_ENDED_AT, 8, 0);
        fake_set_int(res, row, COL_DEAD_LETTER_JOBS_RETRY, 4, fake_retry);
        fake_set_bytes(res, row, COL_DEAD_LETTER_JOBS_IS_CANCELLED, SLICE("\1"));
    }
    return res;
}

static inline PGresult *fake_release(const struct fake_statement *st) {
    PGresult *res = fake_rows(COL_RELEASE_JOBS_IS_CANCELLED + 1);

    for (size_t i = 0; i < st->rows; i++) {
        struct fake_job *j = fake_job_at((int32_t)fake_element(st, 0, i), (int16_t)fake_element(st, 1, i),
                                         fake_element(st, 2, i));
        int row = PQntuples(res);

        if (j == NULL || !j->leased)
            continue;
        j->leased = false;
        fake_set_int(res, row, COL_RELEASE_JOBS_ORDINAL, 4, (int64_t)i + 1);
        fake_set_bytes(res, row, COL_RELEASE_JOBS_IS_CANCELLED,
                       (struct slice){ j->cancelled ? "\1" : "", 1 });
    }
    return res;
}

/* Runs transaction n of the connection, from the oldest on, to be completed later, or lost. */
static inline void fake_run(const struct db_conn *conn, size_t n, PGresult **rows) {
    for (size_t i = 0; i < conn->txns[fake_place(conn, n)].sent; i++) {
        const struct fake_statement *st = fake_sent_by(conn, n, i);

        rows[i] = st->stmt == SQL_ADD_JOBS           ? fake_insert(st)
                  : st->stmt == SQL_CLAIM_SCAN       ? fake_walk(st)
                  : st->stmt == SQL_CLAIM_KEYS       ? fake_claim_keys(st)
                  : st->stmt == SQL_DEAD_LETTER_JOBS ? fake_dead_letter(st)
                                                     : fake_release(st);
    }
}

/* ---- the turn ---- */

static inline void fake_commit_round(void) {
    PGresult *rows[DB_MAX_STATEMENTS];

    assert_int_equal(fake_write_conn()->state, DB_BUSY);
    fake_run(fake_write_conn(), 0, rows);
    fake_commit(fake_write_conn(), rows);
}

/* Sends and commits until no task is queued. Returns how many transactions that took. */
static inline int fake_commit_all(void) {
    int txns = 0;

    for (batch_flush(); fake_write_conn()->state == DB_BUSY; batch_flush()) {
        assert_true(++txns < 10000);
        fake_commit_round();
    }
    return txns;
}

/* The job's lease is over, as maintenance.c tells the queue. */
static inline void fake_end_lease(struct fake_job *j) {
    assert_true(j->leased);
    j->leased = false;
    lease_remove(j->key.id);
    queue_job_returned(queue_find_id(j->key.queue_id), j->key);
}

/* ---- life ---- */

static inline int fake_jobs_group_start(void **state) {
    static struct op *const ops[] = { &op_insert,     &op_release_jobs,     &op_claim_keys,
                                      &op_claim_scan, &op_dead_letter_jobs, NULL };

    (void)state;
    return fake_batch_start(ops, take_plan);
}

static inline int fake_jobs_start(void **state) {
    (void)state;
    config_defaults();
    getters_start();
    fake_job_count = 0;
    fake_lease_end = clock_db() + FAKE_LEASE_US;
    fake_retry = 3600;
    fake_last_attempt = false;
    node_self()->number = 1;
    return 0;
}

static inline int fake_jobs_stop(void **state) {
    (void)state;
    waiters_end_all(NULL);
    assert_true(batch_idle());
    getters_stop();
    lease_clear();
    return 0;
}

/* GETJOB COUNT count FROM queues, as the command starts it. */
static inline void ask_for(int number, const char *queues, int64_t count) {
    struct taker *g = new_get(number, queues);

    g->count = count;
    if (taker_has_budget(g))
        taker_start(g);
    else
        taker_wait(g);
}

#endif
