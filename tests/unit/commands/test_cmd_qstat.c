/* QLEN: numbers of memory and of the database in one reply. */
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
#include "fake_db.h"
#include "getters.h"
#include "noted_replies.h"

static struct op *const ops[] = { &op_count_waiting, &op_count_kept, NULL };

static const struct command qlen = { .handler = cmd_qlen };

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, NULL);
}

/* Three queued jobs. */
static int start(void **state) {
    struct queue *q;

    (void)state;
    getters_start();
    q = queue_named("q1");
    queue_count_total(q, 3);
    queue_count_len(q, 3);
    return 0;
}

static int stop(void **state) {
    (void)state;
    assert_true(batch_idle());
    assert_int_equal(queue_named("q1")->users, 0);
    getters_stop();
    buf_free(&noted_replies);
    return 0;
}

static void ask(const char *first, const char *second) {
    struct slice argv[] = { SLICE("qlen"), SLICE("q1"), SLICE("queued"), slice_str(first),
                            slice_str(second == NULL ? "" : second) };
    struct req *r = req_new(second == NULL ? 4 : 5, argv, NULL, noted_on_end);

    r->cmd = &qlen;
    cmd_qlen(r);
    batch_flush();
}

/* The connection of the only transaction that is under way. */
static struct db_conn *busy(void) {
    size_t at = 0;

    while (at < fake_db.conn_count - 1 && fake_count(fake_db.conns[at]) == 0)
        at++;
    return fake_db.conns[at];
}

/* The database counts that many jobs. */
static void answer(enum sql_stmt stmt, int columns, int64_t count) {
    PGresult *res = fake_rows(columns);

    assert_int_equal(fake_sent(busy(), 0)->stmt, stmt);
    fake_set_int(res, 0, 0, 4, 1);
    for (int col = 1; col < columns; col++)
        fake_set_int(res, 0, col, 8, count);
    fake_commit(busy(), &res);
    batch_flush();
}

static void a_job_leaves(void) {
    queue_count_total(queue_named("q1"), -1);
    queue_count_len(queue_named("q1"), -1);
}

/* A job that is acknowledged while the database counts the retained jobs is in one of the numbers. */
static void test_a_job_ends_during_the_count(void **state) {
    (void)state;
    ask("done", NULL);
    a_job_leaves();
    answer(SQL_COUNT_KEPT, COLUMNS_COUNT_KEPT, 1);
    assert_replied(":3");
}

static void test_jobs_end_between_two_counts(void **state) {
    (void)state;
    ask("after", "done");
    a_job_leaves();
    answer(SQL_COUNT_WAITING, COLUMNS_COUNT_WAITING, 5);
    a_job_leaves();
    answer(SQL_COUNT_KEPT, COLUMNS_COUNT_KEPT, 2);
    assert_replied(":8");
    ask("held", NULL);
    a_job_leaves();
    answer(SQL_COUNT_WAITING, COLUMNS_COUNT_WAITING, 4);
    assert_replied(":4");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_job_ends_during_the_count, start, stop),
        cmocka_unit_test_setup_teardown(test_jobs_end_between_two_counts, start, stop),
    };

    return cmocka_run_group_tests_name("qstat", tests, group_start, fake_batch_stop);
}
