/* ADDJOB UNIQUE: the statement and the reply after the loss of the first answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "adders.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "config/config.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/add.h"
#include "jobs/take.h"

/* Columns of add_unique.sql. */
enum { UNIQUE_ID = 0, UNIQUE_RARE = 18 };

static struct op *const ops[] = { &op_add_unique, NULL };

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, take_plan);
}

static int start(void **state) {
    (void)state;
    config_defaults();
    getters_start();
    return 0;
}

static int stop(void **state) {
    (void)state;
    assert_true(batch_idle());
    getters_stop();
    return 0;
}

static bool replaces(void) {
    return fake_element_bytes(fake_sent(fake_write_conn(), 0), UNIQUE_RARE, 0).ptr != NULL;
}

/* As batch.c does it when the commit marker of the lost transaction is there. */
static void lose_the_answer(void) {
    fake_lose(fake_write_conn());
    batch_cancel(&adder_req->task);
    op_add_unique.answer_lost(&adder_req->task);
    fake_write_conn()->state = DB_READY;
    batch_flush();
}

/* The job that has the key now. */
static void commit_holder(int64_t id) {
    PGresult *rows = fake_rows(8);

    fake_set_int(rows, 0, 0, 4, 1);
    fake_set_int(rows, 0, 1, 2, 0);
    fake_set_int(rows, 0, 2, 8, id);
    fake_set_int(rows, 0, 3, 8, 0);
    fake_set_int(rows, 0, 4, 4, 60);
    fake_set_bytes(rows, 0, 5, (struct slice){ "\0", 1 });
    fake_set_bytes(rows, 0, 6, (struct slice){ 0 });
    fake_set_bytes(rows, 0, 7, (struct slice){ 0 });
    fake_commit(fake_write_conn(), &rows);
}

/* Since the commit, a later ADDJOB may have added another job with the key. */
static void test_a_committed_replace_is_not_repeated(void **state) {
    (void)state;
    add("ADDJOB q1 a 0 UNIQUE k REPLACE WITHOUTCOME");
    batch_flush();
    assert_true(replaces());
    lose_the_answer();
    assert_false(replaces());
    commit_holder(5);
    assert_replies("add:UNKNOWN");
}

/* The ID is known. */
static void test_the_outcome_was_not_asked_for(void **state) {
    (void)state;
    add("ADDJOB q1 a 0 UNIQUE k REPLACE");
    batch_flush();
    lose_the_answer();
    commit_holder(5);
    assert_replies("add:D");
    assert_int_equal(adder_id(), 5);
}

/* The first try added the job itself. */
static void test_the_job_has_the_key(void **state) {
    (void)state;
    add("ADDJOB q1 a 0 UNIQUE k REPLACE WITHOUTCOME");
    batch_flush();
    lose_the_answer();
    commit_holder(fake_element(fake_sent(fake_write_conn(), 0), UNIQUE_ID, 0));
    assert_non_null(strstr(adder_reply, "added"));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_committed_replace_is_not_repeated),
        TEST(test_the_outcome_was_not_asked_for),
        TEST(test_the_job_has_the_key),
    };

    return cmocka_run_group_tests_name("add_unique", tests, group_start, fake_batch_stop);
}
