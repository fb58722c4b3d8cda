/* ACKJOB of queues that retain their jobs: the statement, and the reply when the answer is lost. */
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
#include "ended_reply.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/id_list.h"
#include "jobs/retained.h"
#include "queue/lease.h"
#include "queue/settings.h"

/* Columns of retain_jobs.sql. */
enum { JOB_ID = 2, RETENTION = 4, WORKER, RESULT, NOW, NODE };

#define UNKNOWN_QUEUE 12345
#define HERE 3

static struct op *const ops[] = { &op_retain_jobs, &op_ack_jobs,      &op_ack_tokens,
                                  &op_delete_jobs, &op_look_retained, NULL };

static const struct command ack = { .handler = cmd_ackjob }, fastack = { .handler = cmd_fastack },
                            del = { .handler = cmd_deljob };

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, NULL);
}

static int start(void **state) {
    (void)state;
    getters_start();
    node_self()->number = HERE;
    return 0;
}

static int stop(void **state) {
    ended_reply_forget();
    return getters_teardown(state);
}

static struct db_conn *side(void) {
    return fake_db.conns[1];
}

static int32_t keeping(const char *name, int64_t seconds) {
    struct queue *q = queue_named(name);

    settings_put(q, SETTING_RETENTION, seconds);
    return q->id;
}

/* The command with up to two jobs, 1 and 2, of these queues; 0: no such job. */
static void send_acks(const struct command *cmd, const char *result, int32_t first, int32_t second) {
    int32_t queues[] = { first, second };
    char ids[2][JOBID_LEN];
    struct slice argv[5] = { SLICE("ACKJOB") };
    int argc = 1;
    struct req *r;

    if (result != NULL) {
        argv[argc++] = SLICE("result");
        argv[argc++] = slice_str(result);
    }
    for (int i = 0; i < 2; i++) {
        struct job_key key = { queues[i], 0, i + 1 };

        if (queues[i] == 0)
            continue;
        jobid_format(ids[i], key, "dcb833cfdcb833cf", 600, true);
        argv[argc++] = (struct slice){ ids[i], JOBID_LEN };
    }
    r = req_new(argc, argv, NULL, ended_reply_note);
    r->cmd = cmd;
    cmd->handler(r);
    batch_flush();
}

static const struct fake_statement *sent(void) {
    return fake_sent(fake_write_conn(), 0);
}

/* Commits with a result for each of the two jobs: 'k' removed and retained, 'g' removed, '-' no row. */
static void commit(const char *what) {
    PGresult *res = fake_rows(3);

    for (int i = 0; what[i] != '\0'; i++) {
        int row = PQntuples(res);

        if (what[i] == '-')
            continue;
        fake_set_int(res, row, 0, 4, i + 1);
        fake_set_int(res, row, 1, 8, 0);
        fake_set_int(res, row, 2, 1, what[i] == 'k');
    }
    fake_commit(fake_write_conn(), &res);
    batch_flush();
}

/* A row with the worker and the time of a job's end: since the ACKJOB, or before. */
static void found(PGresult *res, int row, uint16_t node, int64_t finished_at) {
    fake_set_int(res, row, 0, 4, row + 1);
    fake_set_int(res, row, 1, 1, 0);
    if (node == 0)
        return;
    fake_set_int(res, row, 2, 8, finished_at - INT64_C(946684800000000));
    fake_set_int(res, row, 3, 2, node);
}

/* ---- which way ---- */

static void test_plain_queues_pay_nothing(void **state) {
    (void)state;
    send_acks(&ack, NULL, queue_named("q1")->id, keeping("q2", 0));
    assert_int_equal(sent()->stmt, SQL_ACK_JOBS);
    fake_commit_empty(fake_write_conn());
    assert_string_equal(ended_reply, ":0\r\n");
}

static void test_a_retention_is_sent(void **state) {
    (void)state;
    send_acks(&fastack, NULL, keeping("q1", 77), queue_named("q2")->id);
    assert_int_equal(sent()->stmt, SQL_RETAIN_JOBS);
    assert_int_equal(fake_element(sent(), RETENTION, 0), 77);
    assert_int_equal(fake_element(sent(), RETENTION, 1), 0);
    assert_int_equal(fake_element(sent(), JOB_ID, 1), 2);
    assert_null(fake_element_bytes(sent(), RESULT, 0).ptr);
    assert_int_equal(fake_scalar(sent(), NODE), HERE);
    commit("kg");
    assert_string_equal(ended_reply, ":2\r\n");
}

static void test_a_result_is_sent(void **state) {
    (void)state;
    send_acks(&ack, "", queue_named("q1")->id, queue_named("q2")->id);
    assert_int_equal(sent()->stmt, SQL_RETAIN_JOBS);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(fake_element(sent(), RETENTION, i), 0);
        assert_int_equal(fake_element_bytes(sent(), RESULT, i).len, 0);
        assert_non_null(fake_element_bytes(sent(), RESULT, i).ptr);
    }
    commit("k-");
    assert_string_equal(ended_reply, ":1\r\n");
}

/* The server asks the database about a queue that it does not know yet. */
static void test_unknown_queues_are_looked_up(void **state) {
    (void)state;
    send_acks(&ack, NULL, UNKNOWN_QUEUE, 0);
    assert_int_equal(sent()->stmt, SQL_RETAIN_JOBS);
    assert_null(fake_element_bytes(sent(), RETENTION, 0).ptr);
    commit("k");
    assert_string_equal(ended_reply, ":1\r\n");
}

/* The same statement, so that the commands of a client stay in their order. The jobs are not retained. */
static void test_deleted_jobs_are_not_retained(void **state) {
    (void)state;
    send_acks(&del, NULL, keeping("q1", 77), UNKNOWN_QUEUE);
    assert_int_equal(sent()->stmt, SQL_RETAIN_JOBS);
    assert_int_equal(fake_element(sent(), RETENTION, 0), 0);
    assert_int_equal(fake_element(sent(), RETENTION, 1), 0);
    commit("gg");
    assert_string_equal(ended_reply, ":2\r\n");
}

/* ---- lost answers ---- */

/* The first try had been committed: both are kept by this server, since then. */
static void test_the_first_try_counts(void **state) {
    int32_t queue = keeping("q1", 77);
    PGresult *res = fake_rows(5);
    int64_t first;

    (void)state;
    lease_add((struct job_key){ queue, 0, 1 }, clock_db() + US_PER_S);
    send_acks(&ack, "r", queue, queue);
    first = fake_scalar(sent(), NOW) + INT64_C(946684800000000);
    fake_lose_and_repeat();
    fake_lose_and_repeat();
    assert_int_equal(sent()->stmt, SQL_RETAIN_JOBS);
    commit("--");
    assert_null(ended_reply);
    assert_int_equal(fake_sent(side(), 0)->stmt, SQL_LOOK_JOBS);
    found(res, 0, HERE, first);
    found(res, 1, HERE, first + 5);
    fake_commit(side(), &res);
    assert_string_equal(ended_reply, ":2\r\n");
    assert_false(lease_known(1));
}

/* Others have finished them: at another server, or before. */
static void test_finished_by_others_does_not_count(void **state) {
    int32_t queue = keeping("q1", 77);
    PGresult *res = fake_rows(5);
    int64_t first;

    (void)state;
    send_acks(&ack, NULL, queue, queue);
    first = fake_scalar(sent(), NOW) + INT64_C(946684800000000);
    fake_lose_and_repeat();
    commit("--");
    found(res, 0, HERE + 1, first + 5);
    found(res, 1, HERE, first - 1);
    fake_commit(side(), &res);
    assert_string_equal(ended_reply, ":0\r\n");
}

/* The first attempt was not committed. The second attempt counts once. One job is retained, and the other is not. */
static void test_the_second_try_counts_once(void **state) {
    int32_t queue = keeping("q1", 77);
    PGresult *res = fake_rows(5);

    (void)state;
    send_acks(&ack, NULL, queue, queue_named("q2")->id);
    fake_lose_and_repeat();
    commit("kg");
    found(res, 0, HERE, clock_db());
    found(res, 1, 0, 0);
    fake_commit(side(), &res);
    assert_string_equal(ended_reply, ":2\r\n");
}

/* A job may leave no row. The lease in memory tells then that this ACKJOB removed it. */
static void test_a_lease_that_is_left_counts(void **state) {
    int32_t plain = queue_named("q2")->id;
    PGresult *res = fake_rows(5);

    (void)state;
    lease_add((struct job_key){ plain, 0, 2 }, clock_db() + US_PER_S);
    send_acks(&ack, NULL, keeping("q1", 77), plain);
    fake_lose_and_repeat();
    commit("--");
    found(res, 0, 0, 0);
    found(res, 1, 0, 0);
    fake_commit(side(), &res);
    assert_string_equal(ended_reply, ":1\r\n");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_plain_queues_pay_nothing),
        TEST(test_a_retention_is_sent),
        TEST(test_a_result_is_sent),
        TEST(test_unknown_queues_are_looked_up),
        TEST(test_deleted_jobs_are_not_retained),
        TEST(test_the_first_try_counts),
        TEST(test_finished_by_others_does_not_count),
        TEST(test_the_second_try_counts_once),
        TEST(test_a_lease_that_is_left_counts),
    };

    return cmocka_run_group_tests_name("finished jobs", tests, group_start, fake_batch_stop);
}
