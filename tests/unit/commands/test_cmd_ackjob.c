/* ACKJOB with tokens: the replies, and the leases of others, also when the answer is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "ended_reply.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/id_list.h"
#include "queue/lease.h"

/* Columns of ack_tokens.sql. */
enum { JOB_ID = 2, TOKEN };

#define JOBS 3

static struct op *const ops[] = { &op_ack_jobs, &op_ack_tokens, NULL };

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, NULL);
}

static int stop(void **state) {
    ended_reply_forget();
    return getters_teardown(state);
}

static struct job_key job(int64_t id) {
    return (struct job_key){ queue_named("q1")->id, 0, id };
}

/* ACKJOB of the jobs 1, 2 and 3; a token of 0: without. */
static void send_acks(const int64_t tokens[JOBS]) {
    static const struct command ack = { .handler = cmd_ackjob };
    char ids[JOBS][JOBID_LEN + 16];
    struct slice argv[JOBS + 1] = { SLICE("ACKJOB") };
    struct req *r;

    for (int i = 0; i < JOBS; i++) {
        jobid_format(ids[i], job(i + 1), "dcb833cfdcb833cf", 600, true);
        argv[i + 1] = (struct slice){ ids[i], JOBID_LEN };
        if (tokens[i] != 0)
            argv[i + 1].len += (size_t)sprintf(ids[i] + JOBID_LEN, ":%d", (int)tokens[i]);
    }
    r = req_new(JOBS + 1, argv, NULL, ended_reply_note);
    r->cmd = &ack;
    cmd_ackjob(r);
    batch_flush();
}

/* Commits with a result for each of the three jobs: 'g' removed, 's' its token is stale, '-' no row. */
static void commit(const char *what) {
    PGresult *res = fake_rows(2);

    for (int i = 0; i < JOBS; i++) {
        if (what[i] == '-')
            continue;
        fake_set_int(res, PQntuples(res), 0, 4, i + 1);
        if (what[i] == 'g')
            fake_set_int(res, PQntuples(res) - 1, 1, 8, 0);
    }
    fake_commit(fake_write_conn(), &res);
}

static void test_without_tokens_as_ever(void **state) {
    (void)state;
    send_acks((const int64_t[JOBS]){ 0, 0, 0 });
    assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt, SQL_ACK_JOBS);
    commit("ggg");
    assert_string_equal(ended_reply, ":3\r\n");
}

static void test_tokens_are_sent(void **state) {
    (void)state;
    send_acks((const int64_t[JOBS]){ 0, 7, 2147483647 });
    assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt, SQL_ACK_TOKENS);
    for (int i = 0; i < JOBS; i++) {
        static const int64_t tokens[JOBS] = { 0, 7, 2147483647 };

        assert_int_equal(fake_element(fake_sent(fake_write_conn(), 0), JOB_ID, (size_t)i), i + 1);
        assert_int_equal(fake_element(fake_sent(fake_write_conn(), 0), TOKEN, (size_t)i), tokens[i]);
    }
    commit("g--");
    assert_string_equal(ended_reply, ":1\r\n");
}

static void test_replies(void **state) {
    static const char *const cases[][2] = {
        { "ggg", ":3" }, { "gsg", ":2" },     { "s-g", ":1" },
        { "---", ":0" }, { "-s-", "-STALE" }, { "sss", "-STALE" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        send_acks((const int64_t[JOBS]){ 1, 1, 1 });
        commit(cases[i][0]);
        assert_memory_equal(ended_reply, cases[i][1], strlen(cases[i][1]));
    }
}

/* The first attempt removed two jobs. This server had leased one of them, and knows nothing about the other. */
static void test_lost_after_its_commit(void **state) {
    (void)state;
    lease_add(job(1), clock_db() + US_PER_S);
    send_acks((const int64_t[JOBS]){ 1, 1, 1 });
    fake_lose_and_repeat();
    assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt, SQL_ACK_TOKENS);
    commit("--s");
    assert_string_equal(ended_reply, ":1\r\n");
    assert_false(lease_known(1));
}

/* The leases in memory belong to the present workers of the jobs. */
static void test_lost_and_stale(void **state) {
    (void)state;
    for (int i = 1; i <= JOBS; i++)
        lease_add(job(i), clock_db() + US_PER_S);
    send_acks((const int64_t[JOBS]){ 1, 1, 1 });
    fake_lose_and_repeat();
    commit("sss");
    assert_memory_equal(ended_reply, "-STALE", 6);
    for (int i = 1; i <= JOBS; i++)
        assert_true(lease_known(i));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, getters_setup, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_without_tokens_as_ever), TEST(test_tokens_are_sent), TEST(test_replies),
        TEST(test_lost_after_its_commit),  TEST(test_lost_and_stale),
    };

    return cmocka_run_group_tests_name("acknowledgements with tokens", tests, group_start, fake_batch_stop);
}
