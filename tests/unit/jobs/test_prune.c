/* The pages of unused groups and of unique keys whose time is over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/timer.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/groups.h"
#include "jobs/unique_keys.h"

/* Longer than any rest between two pages. */
#define REST_US (10 * US_PER_S)

static struct op *const ops[] = { &op_prune_groups, &op_prune_keys, NULL };

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, NULL);
}

static int stop(void **state) {
    (void)state;
    assert_true(batch_idle());
    getters_stop();
    return 0;
}

static struct db_conn *prune_conn(void) {
    return fake_db.conns[1];
}

static const struct fake_statement *page(enum sql_stmt stmt) {
    batch_flush();
    assert_int_equal(fake_count(prune_conn()), 1);
    assert_int_equal(fake_sent(prune_conn(), 0)->stmt, stmt);
    return fake_sent(prune_conn(), 0);
}

static void end_page(PGresult *rows) {
    PGresult *results[DB_MAX_STATEMENTS] = { rows };

    fake_commit(prune_conn(), results);
}

static void assert_no_page(void) {
    batch_flush();
    assert_int_equal(fake_count(prune_conn()), 0);
}

/* A full page is followed by the page after it, once and after a rest. The next pass begins with the first page. */
static void test_groups(void **state) {
    PGresult *full = fake_rows(COLUMNS_PRUNE_GROUPS);
    struct slice key;

    (void)state;
    groups_prune();
    assert_int_equal(fake_scalar(page(SQL_PRUNE_GROUPS), 3), 0);
    fake_set_int(full, 0, COL_PRUNE_GROUPS_QUEUE_ID, 4, 7);
    fake_set_bytes(full, 0, COL_PRUNE_GROUPS_KEY, SLICE("key"));
    end_page(full);
    groups_prune();
    assert_no_page();
    timers_run(clock_mono() + REST_US);
    key = page(SQL_PRUNE_GROUPS)->column[4];
    assert_int_equal(fake_scalar(fake_sent(prune_conn(), 0), 3), 7);
    assert_int_equal(key.len, 3);
    assert_memory_equal(key.ptr, "key", 3);
    end_page(NULL);
    timers_run(clock_mono() + REST_US);
    assert_no_page();
    groups_prune();
    assert_int_equal(fake_scalar(page(SQL_PRUNE_GROUPS), 3), 0);
    end_page(NULL);
}

static void test_keys(void **state) {
    PGresult *full = fake_rows(COLUMNS_PRUNE_KEYS);

    (void)state;
    unique_keys_prune();
    assert_true(fake_scalar(page(SQL_PRUNE_KEYS), 2) < 0);
    fake_set_int(full, 0, COL_PRUNE_KEYS_UNTIL, 8, 5);
    end_page(full);
    assert_no_page();
    timers_run(clock_mono() + REST_US);
    assert_int_equal(fake_scalar(page(SQL_PRUNE_KEYS), 2), 5);
    end_page(NULL);
    timers_run(clock_mono() + REST_US);
    assert_no_page();
    unique_keys_prune();
    assert_true(fake_scalar(page(SQL_PRUNE_KEYS), 2) < 0);
    end_page(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_groups, getters_setup, stop),
        cmocka_unit_test_setup_teardown(test_keys, getters_setup, stop),
    };

    return cmocka_run_group_tests_name("prune", tests, group_start, fake_batch_stop);
}
