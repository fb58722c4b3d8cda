/* REPRIORITIZE: the notes to its queue and to other servers, also if the first attempt's answer is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "batch/batch.h"
#include "batch/operations.h"
#include "cluster/outbox.h"
#include "commands/dispatch.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/expire.h"

/* Columns of rerank_jobs.sql's parameters. */
enum { JOB_ID = 2, TO_RANK };

#define JOB 7
#define UNKNOWN_QUEUE 99

static struct op *const ops[] = { &op_rerank_jobs, NULL };
static struct queue *q;
static bool ended;
static char told[400];

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, NULL);
}

static int start(void **state) {
    (void)state;
    getters_start();
    outbox_set_shared(true);
    q = queue_named("q1");
    outbox_take(told, sizeof told);
    ended = false;
    return 0;
}

static int stop(void **state) {
    (void)state;
    assert_true(batch_idle());
    outbox_set_shared(false);
    getters_stop();
    return 0;
}

static void on_end(struct req *r) {
    ended = true;
    req_free(r);
}

/* The job of this queue is to have the priority 5. */
static void send_rerank(int32_t queue_id) {
    static const struct command reprioritize = { .handler = cmd_reprioritize };
    char id[JOBID_LEN];
    struct slice argv[] = { SLICE("REPRIORITIZE"), SLICE("5"), { id, JOBID_LEN } };
    struct req *r;

    jobid_format(id, (struct job_key){ queue_id, 0, JOB }, "dcb833cfdcb833cf", 600, true);
    r = req_new(3, argv, NULL, on_end);
    r->cmd = &reprioritize;
    cmd_reprioritize(r);
    batch_flush();
}

static void commit(bool moved, bool queued) {
    PGresult *res = fake_rows(6);

    assert_int_equal(fake_element(fake_sent(fake_write_conn(), 0), JOB_ID, 0), JOB);
    assert_int_equal((int16_t)fake_element(fake_sent(fake_write_conn(), 0), TO_RANK, 0), -5);
    fake_set_int(res, 0, 0, 4, 1);
    fake_set_int(res, 0, 1, 1, moved);
    fake_set_int(res, 0, 2, 1, queued);
    fake_set_int(res, 0, 3, 8, 0);
    fake_set_int(res, 0, 4, 4, 600);
    fake_set_int(res, 0, 5, 8, 0);
    fake_commit(fake_write_conn(), &res);
    assert_true(ended);
    outbox_take(told, sizeof told);
}

static void lose(void) {
    fake_lose(fake_write_conn());
    fake_write_conn()->state = DB_READY;
    batch_flush();
}

static void expect_told(int32_t queue_id) {
    char item[40];

    snprintf(item, sizeof item, "k%d,-5,%d", queue_id, JOB);
    assert_non_null(strstr(told, item));
}

/* A server that has passed by the new place searches there. */
static void test_moved(void **state) {
    struct job_key key;

    (void)state;
    send_rerank(q->id);
    commit(true, true);
    expect_told(q->id);
    assert_true(position_take_key(&q->scan, &key));
    assert_int_equal(key.rank, -5);
    assert_int_equal(q->counters.len, 0);
}

static void test_of_a_queue_that_we_do_not_know(void **state) {
    (void)state;
    send_rerank(UNKNOWN_QUEUE);
    commit(true, true);
    expect_told(UNKNOWN_QUEUE);
}

/* The note about a delayed job has its wake time. */
static void test_not_queued(void **state) {
    (void)state;
    send_rerank(q->id);
    commit(true, false);
    assert_null(strchr(told, 'k'));
}

/* The job was at its new place. The server that moved it has told the others. */
static void test_not_moved(void **state) {
    (void)state;
    send_rerank(q->id);
    commit(false, true);
    assert_null(strchr(told, 'k'));
    assert_int_equal(q->scan.key_count, 0);
}

/* The first attempt may have moved it, and has not told the others. */
static void test_moved_by_a_lost_try(void **state) {
    (void)state;
    send_rerank(q->id);
    lose();
    commit(false, true);
    expect_told(q->id);
    assert_int_equal(q->scan.key_count, 1);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_moved),
        TEST(test_of_a_queue_that_we_do_not_know),
        TEST(test_not_queued),
        TEST(test_not_moved),
        TEST(test_moved_by_a_lost_try),
    };

    return cmocka_run_group_tests_name("rerank", tests, group_start, fake_batch_stop);
}
