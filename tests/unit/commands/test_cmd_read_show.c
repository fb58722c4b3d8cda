/* SHOW: the jobs that share a statement. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "batch/batch.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "config/config.h"
#include "fake_db.h"
#include "getters.h"

static struct op *const ops[] = { &op_show_jobs, &op_show_retained, NULL };
static int replies;

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, NULL);
}

static int start(void **state) {
    (void)state;
    getters_start();
    replies = 0;
    return 0;
}

static int stop(void **state) {
    (void)state;
    assert_true(batch_idle());
    getters_stop();
    return 0;
}

static void on_end(struct req *r) {
    replies++;
    req_free(r);
}

static const struct command show = { .handler = cmd_show };

static void send_show(int64_t id) {
    char text[JOBID_LEN];
    struct slice argv[] = { slice_str("SHOW"), { text, sizeof text } };
    struct req *r;

    job_format_id(text, (struct job_key){ queue_named("q1")->id, 0, id }, 0, 60);
    r = req_new(2, argv, NULL, on_end);
    r->cmd = &show;
    cmd_show(r);
}

static struct db_conn *reads(void) {
    return fake_db.conns[1];
}

/* Ends the statement, which must have asked for that many jobs, without a row for them. */
static void expect_statement(enum sql_stmt stmt, size_t rows) {
    PGresult *none = fake_rows(22);

    batch_flush();
    assert_int_equal(fake_count(reads()), 1);
    assert_int_equal(fake_sent(reads(), 0)->stmt, stmt);
    assert_int_equal(fake_sent(reads(), 0)->rows, rows);
    fake_commit(reads(), &none);
}

static void test_small_jobs_share_a_statement(void **state) {
    (void)state;
    queue_note_body(queue_named("q1"), 1000);
    for (int i = 1; i <= 100; i++)
        send_show(i);
    expect_statement(SQL_SHOW_JOBS, 100);
    expect_statement(SQL_SHOW_RETAINED, 100);
    assert_int_equal(replies, 100);
}

/* The result of a statement has one job that may be larger than batch-max-bytes. */
static void test_a_large_job_has_its_own_statement(void **state) {
    (void)state;
    queue_note_body(queue_named("q1"), 4 * (size_t)config.batch_max_bytes);
    for (int i = 1; i <= 2; i++)
        send_show(i);
    expect_statement(SQL_SHOW_JOBS, 1);
    expect_statement(SQL_SHOW_JOBS, 1);
    expect_statement(SQL_SHOW_RETAINED, 1);
    expect_statement(SQL_SHOW_RETAINED, 1);
    assert_int_equal(replies, 2);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_small_jobs_share_a_statement),
        TEST(test_a_large_job_has_its_own_statement),
    };

    return cmocka_run_group_tests_name("show", tests, group_start, fake_batch_stop);
}
