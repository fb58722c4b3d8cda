/* Claims: the clients that get jobs, the beginning and end of a claim, and returned jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "fake_jobs.h"
#include "queue/queue_ready.h"

static void insert_jobs(const char *queue, int count) {
    for (int i = 0; i < count; i++)
        insert_job(queue, 0);
}

/* The client's connection is closed for good. */
static void gone(int number) {
    struct client *c = &getters[number].client;

    getters[number].killed = true;
    waiters_client_gone(c);
    undelivered_return_unsent(c);
}

static const struct fake_statement *statement(size_t i, enum sql_stmt stmt) {
    const struct fake_statement *st = fake_sent(fake_write_conn(), i);

    assert_int_equal(st->stmt, stmt);
    return st;
}

static struct job_key scan_position(const char *queue) {
    return queue_named(queue)->scan.position;
}

/* Nothing is under way, and the count is right. */
static void assert_rests(const char *queue, int64_t len) {
    const struct queue *q = queue_named(queue);

    assert_int_equal(q->work->claims.rows, 0);
    for (size_t i = 0; i < TAKE_KINDS; i++)
        assert_null(q->work->claims.latest[i]);
    assert_int_equal(q->counters.len, len);
}

/* ---- walks ---- */

static void test_walk(void **state) {
    const struct fake_statement *st;

    (void)state;
    insert_jobs("q1", 5);
    fake_commit_all();
    ask_for(1, "q1", 3);
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 1);
    st = statement(0, SQL_CLAIM_SCAN);
    assert_int_equal(fake_scalar(st, 0), 1);
    assert_int_equal(fake_scalar(st, 1), 0);
    assert_int_equal(fake_scalar(st, 2), fake_jobs[0].key.id - 1);
    assert_int_equal(fake_scalar(st, 3), 3);
    assert_int_equal(fake_scalar(st, 5), 1);
    assert_int_equal(queue_budget(queue_named("q1")), 2);
    fake_commit_round();
    assert_replies("1:q1=0,q1=1,q1=2");
    assert_true(scan_position("q1").id == fake_jobs[2].key.id);
    assert_rests("q1", 2);
    assert_true(lease_known(fake_jobs[2].key.id));
    ask_for(1, "q1", 1);
    batch_flush();
    assert_true(fake_scalar(statement(0, SQL_CLAIM_SCAN), 2) == fake_jobs[2].key.id);
    fake_commit_round();
    assert_replies("1:q1=3");
}

static void test_short_walk(void **state) {
    (void)state;
    insert_jobs("q1", 2);
    fake_commit_all();
    queue_named("q1")->counters.len = 4;
    ask_for(1, "q1", 4);
    batch_flush();
    fake_commit_round();
    assert_replies("1:q1=0,q1=1");
    assert_true(scan_position("q1").id == job_id_last() && scan_position("q1").rank == 0);
    assert_false(queue_named("q1")->scan.may_have_more);
    assert_int_equal(queue_budget(queue_named("q1")), 0);
}

/* One statement serves all clients, in the order of their arrival. */
static void test_shared_walk(void **state) {
    (void)state;
    insert_jobs("q1", 6);
    fake_commit_all();
    ask_for(2, "q1", 2);
    ask_for(1, "q1", 1);
    ask_for(3, "q1", 2);
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 1);
    assert_int_equal(fake_scalar(statement(0, SQL_CLAIM_SCAN), 3), 5);
    fake_commit_round();
    assert_replies("2:q1=0,q1=1 1:q1=2 3:q1=3,q1=4");
    assert_rests("q1", 1);
}

/* While takes are held, requests wait. */
static void test_held(void **state) {
    (void)state;
    insert_jobs("q1", 2);
    fake_commit_all();
    waiters_expect(WAITERS_SCANS, true);
    ask_for(1, "q1", 1);
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 0);
    assert_waiting("q1", "1");
    queue_signal(queue_named("q1"));
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 0);
    waiters_expect(WAITERS_SCANS, false);
    fake_commit_all();
    assert_replies("1:q1=0");
}

/* A waiting client is served before a new one. Each gets a job. */
static void test_waiting_before_fresh(void **state) {
    (void)state;
    ask_for(1, "q1", 5);
    ask_for(2, "q1", 1);
    insert_jobs("q1", 4);
    batch_flush();
    fake_commit_round();
    ask_for(3, "q1", 9);
    fake_commit_all();
    assert_replies("1:q1=0 2:q1=1 3:q1=2,q1=3");
    assert_rests("q1", 0);
}

static void test_more_gets_than_jobs(void **state) {
    (void)state;
    insert_jobs("q1", 2);
    fake_commit_all();
    for (int i = 1; i <= 4; i++)
        ask_for(i, "q1", 1);
    fake_commit_all();
    assert_replies("1:q1=0 2:q1=1");
    assert_waiting("q1", "3 4");
    insert_jobs("q1", 1);
    fake_commit_all();
    assert_replies("3:q1=2");
    assert_rests("q1", 0);
}

/* There may be more than is counted. */
static void test_more_jobs_than_counted(void **state) {
    (void)state;
    for (int i = 1; i <= 3; i++)
        ask_for(i, "q1", 1);
    insert_jobs("q1", 3);
    batch_flush();
    fake_commit_round();
    queue_named("q1")->counters.len = 1;
    fake_commit_all();
    assert_replies("1:q1=0 2:q1=1 3:q1=2");
}

static void watch_deliver(struct taker *taker, const struct job *jobs, size_t count) {
    assert_null(jobs);
    assert_int_equal(count, 0);
    reply_array(taker->req, 0);
}

static void watch_ended(struct taker *taker) {
    (void)taker;
}

static const struct taker_kind watch = { .watches = true, .deliver = watch_deliver, .ended = watch_ended };

static void watch_begin(int number) {
    struct taker *watching = new_get(number, "q1");

    watching->kind = &watch;
    taker_begin(watching);
    batch_flush();
}

/* The GETJOB looks for an uncounted job. The watch waits until a job is counted. */
static void test_watch_waits_for_a_counted_job(void **state) {
    (void)state;
    queue_reset_scan(queue_named("q1"));
    watch_begin(1);
    assert_waiting("q1", "1");
    ask_for(2, "q1", 1);
    batch_flush();
    fake_commit_round();
    assert_replies("");
    assert_waiting("q1", "1 2");
    queue_reset_scan(queue_named("q1"));
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 1);
    fake_commit_round();
    assert_waiting("q1", "1 2");
    insert_jobs("q1", 1);
    fake_commit_all();
    assert_replies("1: 2:q1=0");
}

/* The message of the job comes first, and its number in the next message of the peer. */
static void test_watch_waits_for_the_count_of_a_peer(void **state) {
    struct queue *q = queue_named("q1");

    (void)state;
    watch_begin(1);
    queue_receive_ready(q, (struct job_key){ 1, 0, job_new_id(clock_db(), 2) });
    batch_flush();
    assert_replies("");
    queue_receive_share(q, 2, (struct queue_share){ .len = 1, .total = 1, .jobs_in = 1 }, false);
    batch_flush();
    assert_replies("1:");
}

/* The job wakes the first watch. The GETJOB behind both watches gets the job. */
static void test_request_behind_two_watches(void **state) {
    (void)state;
    watch_begin(1);
    watch_begin(2);
    ask_for(3, "q1", 1);
    batch_flush();
    insert_jobs("q1", 1);
    fake_commit_all();
    assert_replies("1: 3:q1=0");
    assert_waiting("q1", "2");
    gone(2);
}

static void test_queues_in_turn(void **state) {
    (void)state;
    insert_jobs("q1", 1);
    insert_jobs("q2", 5);
    insert_jobs("q3", 2);
    fake_commit_all();
    ask_for(1, "q3 q1 q2", 6);
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 3);
    fake_commit_round();
    assert_replies("1:q3=6,q1=0,q2=1,q3=7,q2=2,q2=3");
    assert_rests("q2", 2);
}

static void test_no_more_than_a_batch(void **state) {
    (void)state;
    config.batch_max = 10;
    insert_jobs("q1", 30);
    fake_commit_all();
    ask_for(1, "q1", 1000000);
    batch_flush();
    assert_int_equal(fake_scalar(statement(0, SQL_CLAIM_SCAN), 3), 10);
    fake_commit_round();
    assert_rests("q1", 20);
    getter_replies();
}

static void test_paused(void **state) {
    (void)state;
    insert_jobs("q1", 1);
    fake_commit_all();
    queue_set_pause(queue_named("q1"), PAUSE_OUT);
    ask_for(1, "q1", 1);
    assert_int_equal(fake_commit_all(), 0);
    assert_waiting("q1", "1");
    queue_set_pause(queue_named("q1"), 0);
    queue_signal(queue_named("q1"));
    fake_commit_all();
    assert_replies("1:q1=0");
}

/* ---- by key ---- */

static void test_returned_before_the_frontier(void **state) {
    const struct fake_statement *st;

    (void)state;
    insert_jobs("q1", 6);
    fake_commit_all();
    ask_for(1, "q1", 4);
    fake_commit_all();
    fake_end_lease(&fake_jobs[3]);
    fake_end_lease(&fake_jobs[1]);
    ask_for(2, "q1", 3);
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 2);
    st = statement(0, SQL_CLAIM_KEYS);
    assert_int_equal(fake_elements(st, 2), 2);
    assert_true(fake_element(st, 2, 0) == fake_jobs[1].key.id);
    assert_true(fake_element(st, 2, 1) == fake_jobs[3].key.id);
    assert_int_equal(fake_scalar(statement(1, SQL_CLAIM_SCAN), 3), 1);
    fake_commit_round();
    assert_replies("1:q1=0,q1=1,q1=2,q1=3 2:q1=1,q1=3,q1=4");
    assert_rests("q1", 1);
}

/* A job that was acknowledged since leaves its place empty. Other jobs may be there. */
static void test_returned_and_gone(void **state) {
    (void)state;
    insert_jobs("q1", 3);
    fake_commit_all();
    ask_for(1, "q1", 2);
    fake_commit_all();
    fake_end_lease(&fake_jobs[0]);
    fake_jobs[0].gone = true;
    queue_named("q1")->counters.len--;
    ask_for(2, "q1", 1);
    fake_commit_all();
    assert_replies("1:q1=0,q1=1 2:q1=2");
    assert_rests("q1", 0);
}

/* While a claim by key is under way, the next claim also takes the returned job, and does not pass it by. */
static void test_keys_behind_keys(void **state) {
    (void)state;
    insert_jobs("q1", 3);
    fake_commit_all();
    ask_for(1, "q1", 2);
    fake_commit_all();
    fake_end_lease(&fake_jobs[0]);
    fake_end_lease(&fake_jobs[1]);
    ask_for(2, "q1", 1);
    batch_flush();
    insert_jobs("q2", 1);
    ask_for(3, "q1", 1);
    batch_flush();
    assert_int_equal(fake_write_conn()->sent_txns, 2);
    fake_commit_all();
    assert_replies("1:q1=0,q1=1 2:q1=0 3:q1=1");
    assert_rests("q1", 1);
}

static void test_keys_of_many_queues_in_one_statement(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        insert_jobs(i == 0 ? "q1" : i == 1 ? "q2" : "q3", 1);
    fake_commit_all();
    ask_for(1, "q1 q2 q3", 3);
    fake_commit_all();
    for (int i = 0; i < 3; i++)
        fake_end_lease(&fake_jobs[i]);
    ask_for(2, "q3 q1", 2);
    ask_for(3, "q2", 1);
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 1);
    assert_int_equal(fake_elements(statement(0, SQL_CLAIM_KEYS), 0), 3);
    fake_commit_round();
    assert_replies("1:q1=0,q2=1,q3=2 2:q3=2,q1=0 3:q2=1");
}

/* A higher priority goes before, wherever the scan position is. */
static void test_priority_before_the_frontier(void **state) {
    (void)state;
    insert_jobs("q1", 3);
    fake_commit_all();
    ask_for(1, "q1", 2);
    fake_commit_all();
    insert_job("q1", -5);
    fake_commit_all();
    assert_int_equal(queue_named("q1")->scan.key_count, 1);
    ask_for(2, "q1", 1);
    fake_commit_all();
    assert_replies("1:q1=0,q1=1 2:q1=3");
}

/* ---- events during a claim ---- */

/* The claim has not seen the adds of other transactions. */
static void test_added_while_a_walk_is_under_way(void **state) {
    (void)state;
    ask_for(1, "q1", 1);
    queue_scan_from(queue_named("q1"), scan_position("q1"));
    batch_flush();
    statement(0, SQL_CLAIM_SCAN);
    insert_jobs("q1", 1);
    fake_commit_round();
    assert_waiting("q1", "1");
    fake_commit_all();
    assert_replies("1:q1=0");
    assert_rests("q1", 0);
}

/* An id that was made before the walk, but committed after it. */
static void test_frontier_passes_an_add(void **state) {
    struct insert *late = xcalloc(1, sizeof *late);

    (void)state;
    insert_job("q1", 0);
    fake_commit_all();
    late->key = (struct job_key){ 1, 0, job_new_id(clock_db(), 1) };
    late->task = (struct task){ .op = &op_insert, .rows = 1 };
    fair_node_init(&late->task.turn);
    queue_named("q1")->counters.len = 2;
    ask_for(1, "q1", 2);
    fake_commit_all();
    assert_true(scan_position("q1").id == late->key.id);
    queue_named("q1")->counters.len = 0;
    ask_for(2, "q1", 1);
    batch_add(&late->task);
    fake_commit_all();
    assert_replies("1:q1=0 2:q1=1");
}

/* The database sees the end of a lease before the server does, which then must not count
 * the job as queued. */
static void test_lease_that_ends_just_now(void **state) {
    (void)state;
    insert_jobs("q1", 1);
    fake_commit_all();
    ask_for(1, "q1", 1);
    fake_commit_all();
    assert_rests("q1", 0);
    fake_jobs[0].leased = false;
    queue_reset_scan(queue_named("q1"));
    ask_for(2, "q1", 1);
    fake_commit_all();
    assert_replies("1:q1=0 2:q1=0");
    assert_rests("q1", 0);
    assert_int_equal(lease_count(), 1);
}

static void test_rewound_while_a_walk_is_under_way(void **state) {
    (void)state;
    insert_jobs("q1", 3);
    fake_commit_all();
    ask_for(1, "q1", 2);
    fake_commit_all();
    fake_jobs[0].leased = false;
    lease_remove(fake_jobs[0].key.id);
    ask_for(2, "q1", 2);
    batch_flush();
    queue_reset_scan(queue_named("q1"));
    queue_named("q1")->counters.len++;
    fake_commit_round();
    fake_commit_all();
    ask_for(3, "q1", 1);
    fake_commit_all();
    assert_replies("1:q1=0,q1=1 2:q1=2 3:q1=0");
}

/* ---- clients that go ---- */

static void test_gone_while_claiming(void **state) {
    (void)state;
    insert_jobs("q1", 2);
    fake_commit_all();
    ask_for(1, "q1", 1);
    ask_for(2, "q1", 1);
    ask_for(3, "q1", 1);
    batch_flush();
    gone(1);
    assert_int_equal(getters[1].ends, 0);
    fake_commit_round();
    assert_int_equal(getters[1].ends, 1);
    assert_replies("2:q1=1");
    assert_true(lease_known(fake_jobs[0].key.id));
    fake_commit_all();
    assert_replies("3:q1=0");
    assert_rests("q1", 0);
}

/* The release comes too late. The lease then ends as the last attempt, and the job is not queued again. */
static void test_last_attempt_is_not_put_back_in_time(void **state) {
    struct job_key key = { queue_named("q1")->id, 0, 7 };
    struct lease_end end;

    (void)state;
    undelivered_release(key, clock_db(), true, NULL, NULL);
    assert_false(lease_take_ended(clock_db(), &end));
    fake_commit_all();
    assert_true(lease_take_ended(clock_db(), &end));
    assert_true(end.last);
}

/* It was counted as queued when its lease ended, or as gone. */
static void test_unsent_job_whose_lease_is_over(void **state) {
    struct delivery over = { .key = { queue_named("q1")->id, 0, 7 }, .until = clock_db() };

    (void)state;
    getters[1].client.unsent = &over;
    getters[1].client.unsent_count = 1;
    undelivered_return_unsent(&getters[1].client);
    getters[1].client.unsent = NULL;
    getters[1].client.unsent_count = 0;
    assert_true(batch_idle());
    assert_int_equal(lease_count(), 0);
}

static void test_unsent_jobs_come_back(void **state) {
    (void)state;
    insert_jobs("q1", 3);
    fake_commit_all();
    ask_for(1, "q1", 2);
    fake_commit_all();
    getters[1].client.unsent[0].holder = getters[1].client.unsent[1].holder = NULL;
    getters[1].client.unsent[0].offset = 0;
    getters[1].client.bytes_out = getters[1].client.unsent[1].offset = 1;
    gone(1);
    fake_commit_all();
    ask_for(2, "q1", 1);
    fake_commit_all();
    ask_for(3, "q1", 2);
    fake_commit_all();
    assert_replies("1:q1=0,q1=1 2:q1=1 3:q1=2");
    assert_waiting("q1", "");
    assert_true(fake_jobs[0].leased);
}

/* ---- failures ---- */

static void test_refused(void **state) {
    (void)state;
    insert_jobs("q1", 2);
    fake_commit_all();
    ask_for(1, "q1", 1);
    ask_for(2, "q1", 1);
    batch_flush();
    fake_fail(fake_write_conn(), 0, "XX001");
    assert_replies("1:-DBERR 2:-DBERR");
    assert_rests("q1", 2);
    ask_for(3, "q1", 2);
    fake_commit_all();
    assert_replies("3:q1=0,q1=1");
}

static void test_refused_keys(void **state) {
    (void)state;
    insert_jobs("q1", 3);
    fake_commit_all();
    ask_for(1, "q1", 2);
    fake_commit_all();
    fake_end_lease(&fake_jobs[0]);
    fake_end_lease(&fake_jobs[1]);
    ask_for(2, "q1", 3);
    batch_flush();
    fake_fail(fake_write_conn(), 0, "XX001");
    assert_replies("1:q1=0,q1=1 2:-DBERR");
    assert_rests("q1", 3);
    ask_for(3, "q1", 3);
    fake_commit_all();
    assert_replies("3:q1=0,q1=1,q1=2");
}

/* Another statement fails, or the failure passes: no client notices. */
static void test_claims_are_repeated(void **state) {
    (void)state;
    insert_jobs("q1", 2);
    fake_commit_all();
    ask_for(1, "q1", 1);
    fake_commit_all();
    fake_end_lease(&fake_jobs[0]);
    ask_for(2, "q1", 2);
    batch_flush();
    fake_fail(fake_write_conn(), 1, "40001");
    fake_commit_all();
    assert_replies("1:q1=0 2:q1=0,q1=1");
    assert_rests("q1", 0);
}

static void test_waiting_get_keeps_its_place(void **state) {
    (void)state;
    for (int i = 1; i <= 3; i++)
        ask_for(i, "q1", 1);
    insert_jobs("q1", 1);
    batch_flush();
    fake_commit_round();
    batch_flush();
    assert_waiting("q1", "2 3");
    fake_fail(fake_write_conn(), 0, "57014");
    assert_waiting("q1", "1 2 3");
    fake_commit_all();
    assert_replies("1:q1=0");
}

/* Committed or not: bootstrap.c finds the leases of the first attempt. */
static void test_lost(void **state) {
    PGresult *rows[DB_MAX_STATEMENTS];

    (void)state;
    insert_jobs("q1", 3);
    fake_commit_all();
    ask_for(1, "q1", 2);
    batch_flush();
    fake_run(fake_write_conn(), 0, rows);
    PQclear(rows[0]);
    fake_lose(fake_write_conn());
    assert_replies("");
    assert_int_equal(queue_named("q1")->work->claims.rows, 0);
    fake_write_conn()->state = DB_READY;
    fake_commit_all();
    assert_replies("1:q1=2");
    queue_named("q1")->counters.len = 0;
    fake_end_lease(&fake_jobs[0]);
    fake_end_lease(&fake_jobs[1]);
    ask_for(2, "q1", 2);
    fake_commit_all();
    assert_replies("2:q1=0,q1=1");
}

/* test_claim_ahead.c has the tests of jobs ahead. */
static int start(void **state) {
    (void)fake_jobs_start(state);
    config.claim_ahead = false;
    return 0;
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, fake_jobs_stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_walk),
        TEST(test_short_walk),
        TEST(test_shared_walk),
        TEST(test_held),
        TEST(test_waiting_before_fresh),
        TEST(test_more_gets_than_jobs),
        TEST(test_more_jobs_than_counted),
        TEST(test_watch_waits_for_a_counted_job),
        TEST(test_watch_waits_for_the_count_of_a_peer),
        TEST(test_request_behind_two_watches),
        TEST(test_queues_in_turn),
        TEST(test_no_more_than_a_batch),
        TEST(test_paused),
        TEST(test_returned_before_the_frontier),
        TEST(test_returned_and_gone),
        TEST(test_keys_behind_keys),
        TEST(test_keys_of_many_queues_in_one_statement),
        TEST(test_priority_before_the_frontier),
        TEST(test_added_while_a_walk_is_under_way),
        TEST(test_frontier_passes_an_add),
        TEST(test_lease_that_ends_just_now),
        TEST(test_rewound_while_a_walk_is_under_way),
        TEST(test_gone_while_claiming),
        TEST(test_last_attempt_is_not_put_back_in_time),
        TEST(test_unsent_job_whose_lease_is_over),
        TEST(test_unsent_jobs_come_back),
        TEST(test_refused),
        TEST(test_refused_keys),
        TEST(test_claims_are_repeated),
        TEST(test_waiting_get_keeps_its_place),
        TEST(test_lost),
    };

    return cmocka_run_group_tests_name("claim", tests, fake_jobs_group_start, fake_batch_stop);
}
