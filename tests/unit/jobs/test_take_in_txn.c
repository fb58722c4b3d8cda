/* GETJOB in a client transaction: where its search begins behind jobs that are put back. wraps: job_keys_sort_queues */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "batch/batch.h"
#include "batch/client_txn.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/id_list.h"
#include "jobs/take_in_txn.h"
#include "noted_replies.h"

/* Columns of claim_in_txn.sql's parameters. */
enum { QUEUE_ID, RANK, AFTER_ID };

void __real_job_keys_sort_queues(struct job_key *keys, size_t count);
void __wrap_job_keys_sort_queues(struct job_key *keys, size_t count);

static int sorts;
static struct op *const ops[] = { &op_requeue_jobs, &op_claim_in_txn, NULL };
static struct task *tasks[8];
static struct client_txn txn;

void __wrap_job_keys_sort_queues(struct job_key *keys, size_t count) {
    sorts++;
    __real_job_keys_sort_queues(keys, count);
}

static void on_joined(struct client_txn *ct) {
    (void)ct;
}

static void on_txn_end(struct client_txn *ct, enum client_txn_end how, const struct op_error *error) {
    (void)ct;
    (void)error;
    assert_int_equal(how, CLIENT_TXN_COMMITTED);
}

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, NULL);
}

static int start(void **state) {
    (void)state;
    getters_start();
    txn = (struct client_txn){ .tasks = tasks, .on_joined = on_joined, .on_end = on_txn_end };
    sorts = 0;
    return 0;
}

static int stop(void **state) {
    buf_free(&noted_replies);
    return getters_teardown(state);
}

static struct req *next_request(int argc, const struct slice *argv) {
    struct req *r = req_new(argc, argv, NULL, noted_on_end);

    r->task.client_txn = &txn;
    tasks[txn.count++] = &r->task;
    return r;
}

/* NACK of a job of this queue, and of another job of queue 2. */
static void nack(int queue, int16_t rank, int64_t id) {
    static const struct command cmd = { .handler = cmd_nack };
    struct req *r = next_request(0, NULL);

    r->cmd = &cmd;
    (void)job_ids_make(r, 2);
    job_ids_append(r, (struct job_key){ queue, rank, id });
    job_ids_append(r, (struct job_key){ 2, 0, 1000 - id });
    job_ids_hold(r);
    r->task.op = &op_requeue_jobs;
    batch_add(&r->task);
}

static void get_from_all(void) {
    static const struct slice argv[] = { SLICE("q1"), SLICE("q2"), SLICE("q3") };

    get_in_txn(next_request(LENGTH(argv), argv), 0, 1, 0);
}

/* The statement searches queue 1 and queue 2 from there on, and queue 3 from its position. */
static void expect_search(size_t statement, int16_t rank, int64_t after, int64_t after_of_2) {
    const struct fake_statement *s = fake_sent(fake_write_conn(), statement);

    assert_int_equal(s->stmt, SQL_CLAIM_IN_TXN);
    assert_int_equal(s->rows, 3);
    assert_int_equal(fake_element(s, QUEUE_ID, 0), 1);
    assert_int_equal(fake_element(s, RANK, 0), rank);
    assert_int_equal(fake_element(s, AFTER_ID, 0), after);
    assert_int_equal(fake_element(s, AFTER_ID, 1), after_of_2);
    assert_int_equal(fake_element(s, AFTER_ID, 2), 500);
}

static void queues_from(int64_t after) {
    static const char *const names[] = { "q1", "q2", "q3" };

    for (size_t i = 0; i < LENGTH(names); i++) {
        struct queue *q = queue_named(names[i]);

        q->scan.position = (struct job_key){ q->id, 0, after };
    }
}

/* A search in all commands for each queue of each GETJOB would take seconds. */
static void test_behind_jobs_that_are_put_back(void **state) {
    (void)state;
    queues_from(500);
    nack(1, 0, 70);
    get_from_all();
    nack(1, -3, 900);
    nack(1, 0, 60);
    get_from_all();
    client_txn_send(&txn);
    batch_flush();
    expect_search(1, -3, 899, 99);
    expect_search(4, -3, 899, 99);
    fake_fail(fake_write_conn(), 0, "40P01");
    batch_flush();
    expect_search(1, -3, 899, 99);
    assert_int_equal(sorts, 1);
    fake_commit_empty(fake_write_conn());
    assert_replied(":0 *-1 :0 :0 *-1");
}

static void test_the_first_of_several(void **state) {
    (void)state;
    queues_from(500);
    nack(1, 0, 600);
    nack(1, 0, 700);
    nack(1, 0, 400);
    get_from_all();
    client_txn_send(&txn);
    batch_flush();
    expect_search(3, 0, 399, 299);
    fake_commit_empty(fake_write_conn());
    assert_replied(":0 :0 :0 *-1");
}

static void test_nothing_is_put_back(void **state) {
    (void)state;
    queues_from(500);
    get_from_all();
    client_txn_send(&txn);
    batch_flush();
    expect_search(0, 0, 500, 500);
    assert_int_equal(sorts, 0);
    fake_commit_empty(fake_write_conn());
    assert_replied("*-1");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_behind_jobs_that_are_put_back),
        TEST(test_the_first_of_several),
        TEST(test_nothing_is_put_back),
    };

    return cmocka_run_group_tests_name("takes in transactions", tests, group_start, fake_batch_stop);
}
