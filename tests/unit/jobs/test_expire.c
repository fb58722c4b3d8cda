/* The search by wake_at: its three statements share a transaction, or end apart while the table is locked. */
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

#define LOCK_TIMEOUT "55P03"
#define BAD_DATA "22000"
#define DEADLINE_US (60 * US_PER_S)

static struct op *const ops[] = { &op_wake_expired, &op_wake_due, &op_wake_next, NULL };

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, NULL);
}

static int stop(void **state) {
    assert_true(expire_next_wake() != INT64_MAX);
    return getters_teardown(state);
}

static void search(void) {
    expire_wake_at(clock_db() - 1);
    expire_wake();
}

static void assert_queued(size_t expired, size_t due, size_t next) {
    assert_int_equal(op_wake_expired.queued, expired);
    assert_int_equal(op_wake_due.queued, due);
    assert_int_equal(op_wake_next.queued, next);
}

/* Sends the next transaction. It has these statements. */
static void assert_sent(size_t count, enum sql_stmt first) {
    int64_t until = clock_mono() + DEADLINE_US;

    for (batch_flush(); fake_count(fake_write_conn()) == 0; batch_flush()) {
        assert_true(clock_mono() < until);
        clock_turn();
    }
    assert_int_equal(fake_count(fake_write_conn()), count);
    assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt, first);
}

static void test_one_transaction(void **state) {
    (void)state;
    search();
    assert_sent(3, SQL_WAKE_EXPIRED);
    search();
    assert_queued(0, 0, 0);
    fake_commit_empty(fake_write_conn());
    search();
    assert_queued(1, 1, 1);
    assert_sent(3, SQL_WAKE_EXPIRED);
    fake_commit_empty(fake_write_conn());
    expire_wake_at(clock_db());
}

/* Ends the oldest transaction. Only SQL_WAKE_NEXT can be executed while the table is locked. */
static void end_locked(int *failures, int *ends) {
    batch_flush();
    clock_turn();
    if (fake_count(fake_write_conn()) == 0)
        return;
    if (fake_sent(fake_write_conn(), 0)->stmt != SQL_WAKE_NEXT) {
        fake_fail(fake_write_conn(), 0, LOCK_TIMEOUT);
        ++*failures;
    } else {
        fake_commit_empty(fake_write_conn());
        ++*ends;
    }
}

/* The locked statements wait, and the last one ends. No other search begins before they end. */
static void test_locked_table(void **state) {
    int64_t until = clock_mono() + DEADLINE_US;
    int failures = 0, ends = 0;

    (void)state;
    search();
    while (failures < 6 || ends < 1) {
        assert_true(clock_mono() < until);
        end_locked(&failures, &ends);
        search();
        assert_true(op_wake_expired.queued <= 1 && op_wake_due.queued <= 1);
        assert_true(ends == 0 || op_wake_next.queued == 0);
    }
    while (!batch_idle()) {
        assert_true(clock_mono() < until);
        batch_flush();
        clock_turn();
        if (fake_count(fake_write_conn()) > 0)
            fake_commit_empty(fake_write_conn());
    }
    search();
    assert_queued(1, 1, 1);
    assert_sent(3, SQL_WAKE_EXPIRED);
    fake_commit_empty(fake_write_conn());
    expire_wake_at(clock_db());
}

/* A statement that fails ends, too. */
/* After a failure each operation has transactions of its own. */
static void test_failures(void **state) {
    static const enum sql_stmt own[] = { SQL_WAKE_EXPIRED, SQL_WAKE_DUE, SQL_WAKE_NEXT };

    (void)state;
    search();
    assert_sent(3, SQL_WAKE_EXPIRED);
    fake_fail(fake_write_conn(), 0, BAD_DATA);
    assert_sent(2, SQL_WAKE_DUE);
    fake_fail(fake_write_conn(), 0, BAD_DATA);
    assert_sent(1, SQL_WAKE_NEXT);
    fake_fail(fake_write_conn(), 0, BAD_DATA);
    search();
    assert_queued(1, 1, 1);
    for (int i = 0; i < 3; i++) {
        assert_sent(1, own[i]);
        fake_commit_empty(fake_write_conn());
    }
    expire_wake_at(clock_db());
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, getters_setup, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_one_transaction),
        TEST(test_locked_table),
        TEST(test_failures),
    };

    return cmocka_run_group_tests_name("expire", tests, group_start, fake_batch_stop);
}
