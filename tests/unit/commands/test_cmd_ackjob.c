/* ACKJOB with tokens: the replies, events, and leases of others, also after a lost answer. wraps: jobid_parse event_of_id */
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
#include "jobs/row_places.h"
#include "notes.h"
#include "queue/job_events.h"
#include "queue/lease.h"
#include "queue/settings.h"

/* Columns of ack_tokens.sql. */
enum { JOB_ID = 2, TOKEN };

#define JOBS 3

enum jobid_check __real_jobid_parse(struct slice text, struct job_key *key);
enum jobid_check __wrap_jobid_parse(struct slice text, struct job_key *key);
void __wrap_event_of_id(const struct queue *q, enum job_event event, struct slice id);

static int parses;          /* IDs that were parsed */
static struct buf told_ids; /* the ids of the jobs with an event */

static struct op *const ops[] = { &op_ack_jobs, &op_ack_tokens, NULL };

enum jobid_check __wrap_jobid_parse(struct slice text, struct job_key *key) {
    parses++;
    return __real_jobid_parse(text, key);
}

void __wrap_event_of_id(const struct queue *q, enum job_event event, struct slice id) {
    struct job_key key;

    (void)q;
    assert_int_equal(event, EVENT_ACKED);
    assert_int_equal(__real_jobid_parse(id, &key), JOBID_OK);
    buf_printf(&told_ids, " %lld", (long long)key.id);
}

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
static void add_acks(const int64_t tokens[JOBS]) {
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
}

static void send_acks(const int64_t tokens[JOBS]) {
    add_acks(tokens);
    batch_flush();
}

static enum sql_stmt sent_statement(void) {
    return fake_sent(fake_write_conn(), 0)->stmt;
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
    assert_int_equal(sent_statement(), SQL_ACK_JOBS);
    commit("ggg");
    assert_string_equal(ended_reply, ":3\r\n");
}

static void test_tokens_are_sent(void **state) {
    (void)state;
    send_acks((const int64_t[JOBS]){ 0, 7, 2147483647 });
    assert_int_equal(sent_statement(), SQL_ACK_TOKENS);
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
    assert_int_equal(sent_statement(), SQL_ACK_TOKENS);
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

/* ---- rows at known places ---- */

static const int64_t no_tokens[JOBS] = { 0, 0, 0 };

static void note_places(void) {
    for (int i = 1; i <= JOBS; i++)
        row_places_note(i, (uint64_t)i);
}

static void test_by_place(void **state) {
    (void)state;
    note_places();
    send_acks(no_tokens);
    assert_int_equal(sent_statement(), SQL_ACK_PLACES);
    assert_int_equal(fake_element(fake_sent(fake_write_conn(), 0), JOB_ID, 2), 3);
    commit("ggg");
    assert_string_equal(ended_reply, ":3\r\n");
}

/* Each acknowledgement uses the place once. */
static void test_unknown_place(void **state) {
    (void)state;
    note_places();
    row_places_forget(2);
    send_acks(no_tokens);
    assert_int_equal(sent_statement(), SQL_ACK_JOBS);
    commit("ggg");
    send_acks(no_tokens);
    assert_int_equal(sent_statement(), SQL_ACK_JOBS);
    commit("---");
    assert_string_equal(ended_reply, ":0\r\n");
}

static void test_moved_row(void **state) {
    (void)state;
    note_places();
    send_acks(no_tokens);
    ended_reply_forget();
    commit("g-g");
    assert_null(ended_reply);
    batch_flush();
    assert_int_equal(sent_statement(), SQL_ACK_JOBS);
    commit("-g-");
    assert_string_equal(ended_reply, ":3\r\n");
}

/* A part of the jobs is acknowledged. */
static void test_moved_row_and_failure(void **state) {
    (void)state;
    note_places();
    send_acks(no_tokens);
    commit("g-g");
    batch_flush();
    fake_fail(fake_write_conn(), 0, "53100");
    assert_string_equal(ended_reply, ":2\r\n");
}

static void test_row_gone(void **state) {
    (void)state;
    note_places();
    send_acks(no_tokens);
    commit("g--");
    batch_flush();
    commit("---");
    assert_string_equal(ended_reply, ":1\r\n");
}

/* A second statement would cost more than it saves. */
static void test_places_of_some(void **state) {
    (void)state;
    note_places();
    add_acks(no_tokens);
    send_acks(no_tokens);
    assert_int_equal(sent_statement(), SQL_ACK_JOBS);
    assert_int_equal(fake_count(fake_write_conn()), 1);
    commit("---");
    assert_string_equal(ended_reply, ":0\r\n");
    batch_flush();
    assert_int_equal(fake_write_conn()->state, DB_READY);
}

static void test_place_and_lost_answer(void **state) {
    (void)state;
    lease_add(job(1), clock_db() + US_PER_S);
    note_places();
    send_acks(no_tokens);
    fake_lose_and_repeat();
    commit("---");
    batch_flush();
    assert_int_equal(sent_statement(), SQL_ACK_JOBS);
    commit("---");
    assert_string_equal(ended_reply, ":1\r\n");
}

/* ---- events ---- */

static void expect_told(const char *ids) {
    char text[100];

    assert_string_equal(notes_take(&told_ids, text, sizeof text), ids);
}

/* A search of each ID among all would take quadratic time. */
static void test_events_parse_no_id(void **state) {
    (void)state;
    settings_put(queue_named("q1"), SETTING_EVENTS, 1);
    for (int64_t token = 0; token <= 1; token++) {
        send_acks((const int64_t[JOBS]){ token, token, token });
        parses = 0;
        commit("g-g");
        assert_int_equal(parses, 0);
        expect_told("1 3");
    }
    buf_free(&told_ids);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, getters_setup, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_without_tokens_as_ever),
        TEST(test_tokens_are_sent),
        TEST(test_replies),
        TEST(test_lost_after_its_commit),
        TEST(test_lost_and_stale),
        TEST(test_events_parse_no_id),
        TEST(test_by_place),
        TEST(test_unknown_place),
        TEST(test_moved_row),
        TEST(test_moved_row_and_failure),
        TEST(test_row_gone),
        TEST(test_places_of_some),
        TEST(test_place_and_lost_answer),
    };

    return cmocka_run_group_tests_name("acknowledgements with tokens", tests, group_start, fake_batch_stop);
}
