/* NACK and ENQUEUE with a lost connection: the second attempt, and the reply. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "config/config.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/id_list.h"
#include "jobs/take.h"
#include "queue/lease.h"

/* Columns of requeue_jobs_again.sql, and of requeue_jobs.sql. */
enum { JOB_ID = 2, NACK, DELAY, ERROR, FIRST, LOST, NOW_AGAIN, NODE, UNLEASED = 11, NOW = 6 };

static struct op *const ops[] = { &op_ack_jobs, &op_requeue_jobs_again, &op_requeue_jobs, NULL };
static int64_t last_reply;

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, NULL);
}

static int start(void **state) {
    (void)state;
    getters_start();
    node_self()->number = 3;
    last_reply = -1;
    return 0;
}

static void on_end(struct req *r) {
    char *reply = slice_dup((struct slice){ buf_ptr(&r->own), buf_len(&r->own) });

    assert_int_equal(reply[0], ':');
    last_reply = atoi(reply + 1);
    free(reply);
    req_free(r);
}

static struct job_key job(int64_t id) {
    return (struct job_key){ queue_named("q1")->id, 0, id };
}

static const struct command nack = { .handler = cmd_nack }, enqueue = { .handler = cmd_enqueue };

/* As the handlers do with an ID that they have read. */
static void send_requeue(const struct command *cmd, int64_t id) {
    struct req *r = req_new(0, NULL, NULL, on_end);

    r->cmd = cmd;
    job_ids_set(r, job(id));
    job_ids_hold(r);
    r->task.op = &op_requeue_jobs;
    batch_add(&r->task);
    batch_flush();
}

/* The next turn, a microsecond later at least. */
static void next_turn(void) {
    int64_t now = clock_db();

    while (clock_db() == now)
        clock_turn();
}

static void reconnect(void) {
    fake_write_conn()->state = DB_READY;
    next_turn();
    batch_flush();
}

/* Commits with was_queued of the only job, or without a row if it is -1. The row has the end of the lease for other
 * servers. */
static void commit_row(int was_queued, bool missed) {
    PGresult *res = fake_rows(6);

    if (was_queued >= 0) {
        fake_set_int(res, 0, 0, 4, 1);
        fake_set_int(res, 0, 1, 1, was_queued);
        fake_set_int(res, 0, 2, 8, 0);
        fake_set_int(res, 0, 4, 1, false);
        fake_set_int(res, 0, 5, 1, missed);
    }
    fake_commit(fake_write_conn(), &res);
}

static void commit(int was_queued) {
    commit_row(was_queued, false);
}

static void test_sent_again_with_its_times(void **state) {
    int64_t first;

    (void)state;
    send_requeue(&nack, 7);
    assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt, SQL_REQUEUE_JOBS);
    first = fake_scalar(fake_sent(fake_write_conn(), 0), NOW);
    next_turn();
    fake_lose(fake_write_conn());
    reconnect();
    assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt, SQL_REQUEUE_JOBS_AGAIN);
    assert_int_equal(fake_element(fake_sent(fake_write_conn(), 0), JOB_ID, 0), 7);
    assert_int_equal(fake_element(fake_sent(fake_write_conn(), 0), NACK, 0), 1);
    assert_true(fake_element(fake_sent(fake_write_conn(), 0), FIRST, 0) == first);
    assert_true(fake_element(fake_sent(fake_write_conn(), 0), LOST, 0) > first);
    assert_true(fake_element(fake_sent(fake_write_conn(), 0), LOST, 0) <
                fake_scalar(fake_sent(fake_write_conn(), 0), NOW_AGAIN));
    assert_int_equal(fake_scalar(fake_sent(fake_write_conn(), 0), NODE), 3);
    commit(0);
    assert_int_equal(last_reply, 1);
}

/* However often it is lost, or rolled back after that: it is the first try that is looked for. */
static void test_lost_again_and_failed(void **state) {
    int64_t first;

    (void)state;
    send_requeue(&enqueue, 7);
    first = fake_scalar(fake_sent(fake_write_conn(), 0), NOW);
    for (int i = 0; i < 2; i++) {
        next_turn();
        fake_lose(fake_write_conn());
        reconnect();
    }
    fake_fail(fake_write_conn(), 0, "40P01");
    next_turn();
    batch_flush();
    assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt, SQL_REQUEUE_JOBS_AGAIN);
    assert_int_equal(fake_element(fake_sent(fake_write_conn(), 0), NACK, 0), 0);
    assert_true(fake_element(fake_sent(fake_write_conn(), 0), FIRST, 0) == first);
    commit(-1);
    assert_int_equal(last_reply, 0);
}

/* After a certain rollback the next attempt is a first attempt. */
static void test_failed_and_then_lost(void **state) {
    int64_t second;

    (void)state;
    send_requeue(&nack, 7);
    fake_fail(fake_write_conn(), 0, "40P01");
    next_turn();
    batch_flush();
    assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt, SQL_REQUEUE_JOBS);
    second = fake_scalar(fake_sent(fake_write_conn(), 0), NOW);
    fake_lose(fake_write_conn());
    reconnect();
    assert_true(fake_element(fake_sent(fake_write_conn(), 0), FIRST, 0) == second);
    commit(0);
    assert_int_equal(last_reply, 1);
}

/* The row tells the result. A lease in memory does not. */
static void test_a_lease_that_ended_is_no_hit(void **state) {
    struct lease_end end;

    (void)state;
    lease_add(job(7), clock_db() + 1);
    send_requeue(&nack, 7);
    fake_lose(fake_write_conn());
    reconnect();
    commit(-1);
    assert_int_equal(last_reply, 0);
    assert_int_equal(queue_named("q1")->counters.len, 0);
    assert_true(lease_take_ended(clock_db() + US_PER_S, &end));
    assert_int_equal(end.key.id, 7);
}

static void lose_requeue(const struct command *cmd, bool unleased) {
    send_requeue(cmd, 7);
    fake_lose(fake_write_conn());
    reconnect();
    assert_int_equal(fake_element(fake_sent(fake_write_conn(), 0), UNLEASED, 0), unleased);
}

static void expect_stray_end(bool missed) {
    commit_row(0, missed);
    assert_int_equal(last_reply, !missed);
    assert_false(lease_known(7));
}

/* The lease of a lost claim is undone. It counts as put back only if the job had a lease here before. */
static void test_a_stray_lease(void **state) {
    (void)state;
    lose_requeue(&nack, true);
    expect_stray_end(true);
    lease_add(job(7), clock_db() + US_PER_S);
    lose_requeue(&nack, false);
    expect_stray_end(false);
    lose_requeue(&enqueue, false);
    expect_stray_end(false);
}

/* The lease has ended in the row, and goes on here: the client got the job later, or the NACK holds the lease. */
static void test_a_stray_lease_after_another(void **state) {
    (void)state;
    lease_add_row(job(7), clock_db() + US_PER_S, clock_db());
    lose_requeue(&nack, true);
    /* The state before the first loss counts. After it the server loaded the stray lease. */
    lease_add(job(7), clock_db() + US_PER_S);
    fake_lose(fake_write_conn());
    reconnect();
    assert_int_equal(fake_element(fake_sent(fake_write_conn(), 0), UNLEASED, 0), true);
    expect_stray_end(true);
}

static void test_queued_jobs_are_not_counted_twice(void **state) {
    struct queue *q = queue_named("q1");

    (void)state;
    for (int was_queued = 0; was_queued <= 1; was_queued++) {
        int64_t len = q->counters.len;

        lease_add(job(7), clock_db() + US_PER_S);
        send_requeue(&nack, 7);
        fake_lose(fake_write_conn());
        reconnect();
        commit(was_queued);
        assert_int_equal(last_reply, 1);
        assert_int_equal(q->counters.len, len + !was_queued);
        assert_int_equal(q->scan.key_count, was_queued + 1);
        assert_false(lease_known(7));
    }
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, getters_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_sent_again_with_its_times),    TEST(test_lost_again_and_failed),
        TEST(test_failed_and_then_lost),         TEST(test_a_stray_lease),
        TEST(test_a_lease_that_ended_is_no_hit), TEST(test_queued_jobs_are_not_counted_twice),
        TEST(test_a_stray_lease_after_another),
    };

    return cmocka_run_group_tests_name("second tries of NACK", tests, group_start, fake_batch_stop);
}
