/* The reason why the database cannot be reached, while connections open and close. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/log.h"
#include "pg/db_private.h"

static struct event_base *base;
static struct db_conn *writes, *reads;

static void on_ready(struct db_conn *conn) {
    (void)conn;
}

static const struct db_hooks hooks = { .on_ready = on_ready };

static int start(void **state) {
    (void)state;
    clock_turn();
    base = event_base_new();
    db_init(base, "host=/nowhere", &hooks);
    writes = db_conn_new("writes", CONN_WRITE);
    reads = db_conn_new("reads", CONN_READ);
    return log_set_file("/dev/null") ? 0 : -1;
}

static int stop(void **state) {
    (void)state;
    db_conn_free(writes);
    db_conn_free(reads);
    db_stop();
    event_base_free(base);
    return 0;
}

/* Commands still fail, and their error must name a reason. */
static void test_reads_are_ready_first(void **state) {
    (void)state;
    conn_down(reads, "reads are refused");
    conn_down(writes, "writes are refused");
    conn_ready(reads);
    assert_string_equal(db_last_error(), "writes are refused");
    conn_ready(writes);
    assert_string_equal(db_last_error(), "");
}

static void test_reads_are_lost(void **state) {
    (void)state;
    conn_ready(writes);
    conn_down(reads, "reads are refused");
    assert_string_equal(db_last_error(), "reads are refused");
    conn_ready(reads);
    assert_string_equal(db_last_error(), "");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = { TEST(test_reads_are_ready_first), TEST(test_reads_are_lost) };

    return cmocka_run_group_tests_name("db_error", tests, NULL, NULL);
}
