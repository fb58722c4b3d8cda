/* The search by wake_at on the read connection, and the changes of the found rows on the write connection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "batch/batch.h"
#include "batch/operations.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/expire.h"
#include "queue/settings.h"

#define LOCK_TIMEOUT "55P03"
#define BAD_DATA "22000"
#define DEADLINE_US (60 * US_PER_S)
#define EPOCH_US INT64_C(946684800000000) /* of times in parameters and results */
#define LIMIT 1000

static struct op *const ops[] = { &op_wake_next, &op_wake_expired, &op_wake_due, &op_expire_in_order, NULL };

static struct db_conn *read_conn(void) {
    return fake_db.conns[1];
}

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, NULL);
}

/* Builds and sends transactions until the connection has one. */
static void assert_sent(const struct db_conn *conn, size_t count, enum sql_stmt first) {
    int64_t until = clock_mono() + DEADLINE_US;

    for (batch_flush(); fake_count(conn) == 0; batch_flush()) {
        assert_true(clock_mono() < until);
        clock_turn();
    }
    assert_int_equal(fake_count(conn), count);
    assert_int_equal(fake_sent(conn, 0)->stmt, first);
}

static void assert_not_sent(const struct db_conn *conn) {
    batch_flush();
    assert_int_equal(fake_count(conn), 0);
}

static bool is_search_due(void) {
    return expire_next_wake() <= clock_db();
}

/* The time from which on the search that was sent examines rows. */
static int64_t search_begins(void) {
    assert_sent(read_conn(), 1, SQL_WAKE_NEXT);
    return fake_scalar(fake_sent(read_conn(), 0), 0) + EPOCH_US;
}

static void search(void) {
    int64_t until = clock_mono() + DEADLINE_US;

    for (; !is_search_due(); clock_turn())
        assert_true(clock_mono() < until);
    expire_wake();
    assert_sent(read_conn(), 1, SQL_WAKE_NEXT);
}

/* The first searches of a server find nothing. Further ones end what an earlier test has left. */
static int start(void **state) {
    int64_t until = clock_mono() + DEADLINE_US;

    getters_setup(state);
    expire_reset_scan();
    for (; expire_next_wake() < clock_db() + US_PER_S; clock_turn()) {
        assert_true(clock_mono() < until);
        if (!is_search_due())
            continue;
        search();
        fake_commit_empty(read_conn());
    }
    return 0;
}

static int stop(void **state) {
    assert_true(expire_next_wake() != INT64_MAX);
    return getters_teardown(state);
}

static void set_key(PGresult *rows, int row, int64_t id) {
    fake_set_int(rows, row, COL_WAKE_NEXT_QUEUE_ID, 4, 1);
    fake_set_int(rows, row, COL_WAKE_NEXT_RANK, 2, 0);
    fake_set_int(rows, row, COL_WAKE_NEXT_ID, 8, id);
}

static void set_found(PGresult *rows, int row, int64_t at, bool expired) {
    set_key(rows, row, row + 1);
    fake_set_int(rows, row, COL_WAKE_NEXT_WAKE_AT, 8, at - EPOCH_US);
    fake_set_bytes(rows, row, COL_WAKE_NEXT_IS_EXPIRED, (struct slice){ expired ? "\1" : "\0", 1 });
}

static void find(PGresult *rows) {
    PGresult *results[DB_MAX_STATEMENTS] = { rows };

    fake_commit(read_conn(), results);
}

/* The search finds this row. */
static void find_one(int64_t at, bool expired) {
    PGresult *rows = fake_rows(COLUMNS_WAKE_NEXT);

    set_found(rows, 0, at, expired);
    find(rows);
}

/* The row of the job is woken, and ends at this time. */
static PGresult *woken(int64_t id, int64_t ready_at, int64_t wake_at) {
    PGresult *rows = fake_rows(COLUMNS_WAKE_DUE);

    set_key(rows, 0, id);
    fake_set_int(rows, 0, COL_WAKE_DUE_READY_AT, 8, ready_at - EPOCH_US);
    fake_set_int(rows, 0, COL_WAKE_DUE_WAKE_AT, 8, wake_at - EPOCH_US);
    return rows;
}

static void wake_all(PGresult *rows) {
    PGresult *results[DB_MAX_STATEMENTS] = { rows };

    assert_sent(fake_write_conn(), 1, SQL_WAKE_DUE);
    fake_commit(fake_write_conn(), results);
}

static void test_nothing_is_due(void **state) {
    (void)state;
    expire_wake_at(clock_db());
    search();
    expire_wake_at(clock_db());
    expire_wake();
    assert_int_equal(op_wake_next.queued, 0);
    fake_commit_empty(read_conn());
    assert_not_sent(fake_write_conn());
}

static void test_both_kinds(void **state) {
    PGresult *rows = fake_rows(COLUMNS_WAKE_NEXT);
    int64_t now = clock_db();

    (void)state;
    expire_wake_at(now);
    search();
    set_found(rows, 0, now - 2, false);
    set_found(rows, 1, now - 1, true);
    set_found(rows, 2, now + US_PER_S / 2, false);
    find(rows);
    assert_sent(fake_write_conn(), 2, SQL_WAKE_EXPIRED);
    assert_int_equal(fake_element(fake_sent(fake_write_conn(), 0), 2, 0), 2);
    assert_int_equal(fake_sent(fake_write_conn(), 1)->stmt, SQL_WAKE_DUE);
    assert_int_equal(fake_element(fake_sent(fake_write_conn(), 1), 2, 0), 1);
    assert_true(expire_next_wake() == INT64_MAX);
    fake_commit_empty(fake_write_conn());
    assert_true(expire_next_wake() < INT64_MAX);
}

/* The counter has the rows of the result only. The next search is no later than the next wake_at of a woken row. */
static void test_woken(void **state) {
    struct queue *q = queue_named("q1");
    int64_t now = clock_db();

    (void)state;
    expire_wake_at(now);
    search();
    find_one(now - 1, false);
    wake_all(woken(1, now - 1, now + US_PER_S / 2));
    assert_int_equal(q->counters.len, 1);
    assert_int_equal(expire_next_wake(), now + US_PER_S / 2);
}

/* A job that was delayed again is not woken. */
static void test_delayed_again(void **state) {
    struct queue *q = queue_named("q1");
    int64_t now = clock_db();

    (void)state;
    expire_wake_at(now);
    search();
    find_one(now - 1, false);
    wake_all(woken(1, now + US_PER_S, now + US_PER_S));
    assert_int_equal(q->counters.len, 0);
    assert_int_equal(expire_next_wake(), now + US_PER_S);
}

/* A job that is committed while a search runs may be missing in its snapshot. */
static void test_announced_during_a_search(void **state) {
    int64_t now = clock_db();

    (void)state;
    expire_wake_at(now);
    search();
    expire_wake_at(now - 5);
    fake_commit_empty(read_conn());
    search();
    assert_int_equal(search_begins(), now - 6);
    expire_reset_scan();
    fake_commit_empty(read_conn());
    search();
    assert_true(search_begins() < 0);
    fake_commit_empty(read_conn());
}

/* A row that was found and not changed is searched for again. Other rows do not wait for that. */
static void test_missed(void **state) {
    int64_t now = clock_db();

    (void)state;
    expire_wake_at(now);
    search();
    find_one(now - 7, false);
    wake_all(NULL);
    assert_true(expire_next_wake() > clock_db());
    expire_wake_at(clock_db());
    search();
    assert_true(search_begins() > now - 7);
    fake_commit_empty(read_conn());
    search();
    assert_int_equal(search_begins(), now - 8);
    find_one(now - 7, false);
    wake_all(woken(1, now - 7, now + US_PER_S));
}

/* Rows with these times, as many as a search finds at most. */
static void find_many(int64_t first, int64_t last) {
    PGresult *rows = fake_rows(COLUMNS_WAKE_NEXT);

    for (int i = 0; i < LIMIT; i++)
        set_found(rows, i, i == 0 ? first : last, false);
    find(rows);
}

/* Further rows may have the time of the last row. If all rows are locked, the search goes on behind them. */
static void test_many(void **state) {
    int64_t now = clock_db();

    (void)state;
    expire_wake_at(now - 9);
    search();
    find_many(now - 9, now - 8);
    assert_int_equal(fake_elements((batch_flush(), fake_sent(fake_write_conn(), 0)), 2), LIMIT);
    wake_all(NULL);
    assert_true(is_search_due());
    search();
    assert_int_equal(search_begins(), now - 9);
    find_many(now - 8, now - 8);
    wake_all(woken(1, now - 8, now + US_PER_S));
    search();
    assert_int_equal(search_begins(), now - 9);
    find_many(now - 8, now - 8);
    wake_all(NULL);
    search();
    assert_int_equal(search_begins(), now - 8);
    fake_commit_empty(read_conn());
}

/* The search fails, or a change fails: the whole search is repeated later. */
static void test_failures(void **state) {
    int64_t now = clock_db() - US_PER_S;

    (void)state;
    expire_wake_at(now - 3);
    search();
    fake_fail(read_conn(), 0, BAD_DATA);
    assert_true(!is_search_due());
    search();
    assert_int_equal(search_begins(), now - 4);
    find_one(now - 3, true);
    assert_sent(fake_write_conn(), 1, SQL_WAKE_EXPIRED);
    fake_fail(fake_write_conn(), 0, BAD_DATA);
    assert_true(!is_search_due());
    search();
    assert_int_equal(search_begins(), now - 4);
    fake_commit_empty(read_conn());
}

/* The session of the search is lost: the next session repeats the search. */
static void test_lost_session(void **state) {
    int64_t now = clock_db() - US_PER_S;

    (void)state;
    expire_wake_at(now - 3);
    search();
    fake_lose(read_conn());
    assert_not_sent(read_conn());
    assert_true(expire_next_wake() == INT64_MAX);
    read_conn()->state = DB_READY;
    assert_int_equal(search_begins(), now - 4);
    fake_commit_empty(read_conn());
}

/* Another session locks the table. No other search begins before the changes end. */
static void test_locked_table(void **state) {
    int64_t now = clock_db();

    (void)state;
    expire_wake_at(now);
    search();
    find_one(now - 1, false);
    for (int i = 0; i < 3; i++) {
        assert_sent(fake_write_conn(), 1, SQL_WAKE_DUE);
        fake_fail(fake_write_conn(), 0, LOCK_TIMEOUT);
        expire_wake_at(now);
        expire_wake();
        assert_not_sent(read_conn());
    }
    wake_all(woken(1, now - 1, now + US_PER_S));
    assert_true(is_search_due());
}

/* ---- in key order ---- */

#define LEFT_ID 7

/* The next statement sweeps this range of ids. */
static void assert_swept(size_t i, int64_t from, int64_t to) {
    const struct fake_statement *s = fake_sent(fake_write_conn(), 0);

    assert_int_equal(fake_element(s, 2, i), from);
    assert_int_equal(fake_element(s, 3, i), to);
}

static void sweep(size_t ranges) {
    clock_turn();
    expire_look_in_order();
    assert_sent(fake_write_conn(), 1, SQL_EXPIRE_IN_ORDER);
    assert_int_equal(fake_elements(fake_sent(fake_write_conn(), 0), 2), ranges);
}

static int64_t sweep_end_id(size_t i) {
    return fake_element(fake_sent(fake_write_conn(), 0), 3, i);
}

static void leave_job(int64_t id) {
    PGresult *rows[DB_MAX_STATEMENTS] = { fake_rows(COLUMNS_EXPIRE_IN_ORDER) };

    set_key(rows[0], 0, id);
    fake_commit(fake_write_conn(), rows);
}

/* Until the next millisecond. */
static void wait_for_ids(int64_t end) {
    for (; job_id_at(clock_db() - JOB_DEFAULT_TTL * US_PER_S) <= end; clock_turn())
        continue;
}

/* A sweep leaves a locked job, and goes on behind it. The job is tried alone, until it has gone. Then its range is swept
 * again. */
static void test_left_job(void **state) {
    struct queue *q = queue_named("q1");
    int64_t end;

    (void)state;
    queue_count_total(q, 1);
    q->swept_id = 1;
    sweep(1);
    end = sweep_end_id(0);
    leave_job(LEFT_ID);
    for (int i = 0; i < 2; i++) {
        wait_for_ids(end);
        sweep(2);
        assert_swept(0, LEFT_ID - 1, LEFT_ID);
        assert_int_equal(fake_element(fake_sent(fake_write_conn(), 0), 2, 1), end);
        end = sweep_end_id(1);
        leave_job(LEFT_ID);
    }
    wait_for_ids(end);
    sweep(2);
    fake_commit_empty(fake_write_conn());
    sweep(1);
    assert_int_equal(fake_element(fake_sent(fake_write_conn(), 0), 2, 0), LEFT_ID);
    fake_commit_empty(fake_write_conn());
    queue_count_total(q, -1);
}

/* An id that is announced during a sweep sets the queue back. */
static void test_early_id_during_a_sweep(void **state) {
    struct queue *q = queue_named("q1");
    int64_t early = job_id_at(clock_db() - 2 * JOB_DEFAULT_TTL * US_PER_S);

    (void)state;
    queue_count_total(q, 1);
    q->swept_id = early + 1;
    sweep(1);
    expire_in_order_from(q, early);
    fake_commit_empty(fake_write_conn());
    assert_true(q->swept_id < early);
    queue_count_total(q, -1);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_is_due),
        TEST(test_both_kinds),
        TEST(test_woken),
        TEST(test_delayed_again),
        TEST(test_announced_during_a_search),
        TEST(test_missed),
        TEST(test_many),
        TEST(test_failures),
        TEST(test_lost_session),
        TEST(test_locked_table),
        TEST(test_left_job),
        TEST(test_early_id_during_a_sweep),
    };

    return cmocka_run_group_tests_name("expire", tests, group_start, fake_batch_stop);
}
