/* ADDJOB UNIQUE, AFTER and BATCH: the statement and the reply after the loss of the first answer. */
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
#include "queue/delivery.h"

/* Columns of add_unique.sql. */
enum { UNIQUE_ID = 0, UNIQUE_TRIED = 21 };
#define TRACE 77

static struct op *const ops[] = { &op_add_unique, &op_add_in_flow, NULL };

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

static int64_t tried(void) {
    return fake_element(fake_sent(fake_write_conn(), 0), UNIQUE_TRIED, 0);
}

/* As batch.c does it when the commit marker of the lost transaction is there. */
static void lose_the_answer(void) {
    struct add *a = adder_req->data;

    a->trace = TRACE;
    fake_lose(fake_write_conn());
    batch_cancel(&adder_req->task);
    adder_req->task.op->answer_lost(&adder_req->task);
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
    assert_int_equal(tried(), 0);
    lose_the_answer();
    assert_int_equal(tried(), TRACE);
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

/* The committed try was not seen: the next try may add the job, and is answered as a first try. */
static void test_a_key_that_was_being_taken(void **state) {
    PGresult *rows = fake_rows(8);

    (void)state;
    add("ADDJOB q1 a 0 UNIQUE k");
    batch_flush();
    lose_the_answer();
    assert_int_equal(tried(), TRACE);
    fake_set_int(rows, 0, 0, 4, 1);
    for (int col = 1; col < 8; col++)
        fake_set_bytes(rows, 0, col, (struct slice){ 0 });
    fake_commit(fake_write_conn(), &rows);
    assert_replies("");
    batch_flush();
    assert_int_equal(tried(), TRACE);
    commit_holder(5);
    assert_replies("add:D");
}

/* The job with the key has gone: that of the first try, or another one. */
static void test_no_job_has_the_key(void **state) {
    (void)state;
    add("ADDJOB q1 a 0 UNIQUE k WITHOUTCOME");
    batch_flush();
    lose_the_answer();
    fake_commit_empty(fake_write_conn());
    assert_replies("add:UNKNOWN");
}

/* ---- workflows ---- */

static void add_after(void) {
    struct job_key key = { .queue_id = queue_named("q1")->id, .id = 7 };
    char words[100], id[JOBID_LEN];

    job_format_id(id, key, clock_db() + 60 * US_PER_S, 60);
    snprintf(words, sizeof words, "ADDJOB q1 a 0 AFTER %.*s", JOBID_LEN, id);
    add(words);
    batch_flush();
}

static void send_old_request(void) {
    struct add *a;

    add_after();
    a = adder_req->data;
    a->made_us -= 31 * US_PER_S;
}

static bool is_sent_again(void) {
    return fake_count(fake_write_conn()) == 1 && fake_sent(fake_write_conn(), 0)->stmt == SQL_ADD_IN_FLOW;
}

/* verdict: 1 added, 5 it was added by an earlier try. */
static void commit_verdict(int verdict) {
    PGresult *rows = fake_rows(2);

    fake_set_int(rows, 0, 0, 4, 1);
    fake_set_int(rows, 0, 1, 4, verdict);
    fake_commit(fake_write_conn(), &rows);
}

/* The committed transaction may have added nothing. */
static void test_a_job_of_a_workflow_is_judged_again(void **state) {
    (void)state;
    add_after();
    lose_the_answer();
    assert_true(is_sent_again());
    commit_verdict(5);
    assert_replies("add:D");
}

/* A peer may have deleted the row that the statement would find. */
static void test_not_after_a_long_time(void **state) {
    (void)state;
    send_old_request();
    lose_the_answer();
    assert_false(is_sent_again());
    assert_replies("add:UNKNOWN");
    assert_int_equal(queue_named("q1")->work->adds.accepted, 0);
}

/* The same, if the commit marker cannot be read. */
static void test_unknown_after_a_long_time(void **state) {
    (void)state;
    send_old_request();
    fake_lose(fake_write_conn());
    batch_cancel(&adder_req->task);
    adder_req->task.marked = true;
    assert_false(adder_req->task.op->again(&adder_req->task, true));
    assert_replies("add:UNKNOWN");
    fake_write_conn()->state = DB_READY;
}

/* A server without peers deletes these rows itself, after the repetition. */
static void test_alone_after_a_long_time(void **state) {
    (void)state;
    send_old_request();
    fake_lose_and_repeat();
    assert_true(is_sent_again());
    commit_verdict(1);
    assert_replies("add:D");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_committed_replace_is_not_repeated),
        TEST(test_the_outcome_was_not_asked_for),
        TEST(test_the_job_has_the_key),
        TEST(test_a_key_that_was_being_taken),
        TEST(test_no_job_has_the_key),
        TEST(test_a_job_of_a_workflow_is_judged_again),
        TEST(test_not_after_a_long_time),
        TEST(test_unknown_after_a_long_time),
        TEST(test_alone_after_a_long_time),
    };

    return cmocka_run_group_tests_name("add_lost", tests, group_start, fake_batch_stop);
}
