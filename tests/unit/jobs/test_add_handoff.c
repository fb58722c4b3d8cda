/* Handoff: a job is inserted with a lease for a waiting client. Events that come in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "adders.h"
#include "base/node.h"
#include "base/stats.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "config/config.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/add.h"
#include "jobs/row_places.h"
#include "jobs/take.h"
#include "queue/lease.h"
#include "queue/queue_ready.h"

/* Columns of add_jobs.sql, and of add_jobs_alike.sql. */
enum { ADD_ID, ADD_READY_AT, ADD_OWNER = 9 };
enum { ALIKE_READY_AT = 6, ALIKE_OWNER = 8 };

static struct op *const ops[] = { &op_add_jobs,   &op_add_missing, &op_ack_jobs, &op_release_jobs,
                                  &op_claim_keys, &op_claim_scan,  NULL };

static int group_start(void **state) {
    (void)state;
    return fake_batch_start(ops, take_plan);
}

static int start(void **state) {
    (void)state;
    config_defaults();
    getters_start();
    node_self()->number = 3;
    return 0;
}

static int stop(void **state) {
    (void)state;
    waiters_end_all(NULL);
    assert_true(batch_idle());
    assert_true(timers_next() == INT64_MAX);
    getters_stop();
    lease_clear();
    return 0;
}

static void wait_for(int number, const char *queue) {
    taker_wait(new_get(number, queue));
}

/* ---- ADDJOB ---- */

/* The statement that adds a job of the transaction; its row counts from there on. */
static const struct fake_statement *adding(size_t *row) {
    const struct fake_statement *st = fake_sent(fake_write_conn(), 0);

    for (size_t i = 0; *row >= st->rows; st = fake_sent(fake_write_conn(), ++i))
        *row -= st->rows;
    return st;
}

static void assert_owner(size_t row, bool owned) {
    const struct fake_statement *st = adding(&row);
    bool alike = st->stmt == SQL_ADD_JOBS_ALIKE || st->stmt == SQL_ADD_JOBS_LEASED;
    struct slice owner = alike ? st->column[ALIKE_OWNER] : fake_element_bytes(st, ADD_OWNER, row);

    assert_int_equal(owner.ptr != NULL, owned);
    if (owned)
        assert_int_equal(fake_number(owner), 3);
}

static void commit(void) {
    fake_commit_empty(fake_write_conn());
}

/* ---- in a single transaction ---- */

static void test_handoff(void **state) {
    uint64_t handoffs = stats.handoffs, claims = stats.claims;
    int64_t id;

    (void)state;
    wait_for(1, "q1");
    add("ADDJOB q1 body 0 RETRY 60");
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 1);
    assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt, SQL_ADD_JOBS_LEASED);
    assert_owner(0, true);
    assert_waiting("q1", "");
    assert_replies("");
    id = fake_element(fake_sent(fake_write_conn(), 0), ADD_ID, 0);
    commit();
    assert_replies("1:q1=body add:D");
    assert_true(lease_known(id));
    assert_in_range(lease_next_end() - clock_db(), 59 * US_PER_S, 60 * US_PER_S);
    assert_int_equal(stats.handoffs, handoffs + 1);
    assert_int_equal(stats.claims, claims);
    assert_int_equal(queue_named("q1")->counters.len, 0);
    assert_int_equal(queue_named("q1")->counters.total, 1);
    assert_int_equal(queue_named("q1")->counters.jobs_in, 1);
    assert_int_equal(queue_named("q1")->counters.jobs_out, 1);
}

/* The insert tells where the row is. */
static void test_place_of_handoff(void **state) {
    PGresult *res = fake_rows(COL_ADD_JOBS_LEASED_PLACE + 1);
    int64_t id;

    (void)state;
    wait_for(1, "q1");
    add("ADDJOB q1 body 0");
    batch_flush();
    id = fake_element(fake_sent(fake_write_conn(), 0), ADD_ID, 0);
    fake_set_int(res, 0, COL_ADD_JOBS_LEASED_ID, 8, id);
    fake_set_bytes(res, 0, COL_ADD_JOBS_LEASED_PLACE, SLICE("\0\0\0\1\0\2"));
    fake_commit(fake_write_conn(), &res);
    assert_replies("1:q1=body add:D");
    assert_true(row_places_take(id) == 65538);
}

static void test_order_of_arrival(void **state) {
    (void)state;
    wait_for(2, "q1");
    wait_for(1, "q1 q2");
    wait_for(3, "q1");
    add("ADDJOB q1 a 0");
    add("ADDJOB q1 b 0");
    batch_flush();
    assert_waiting("q1", "3");
    assert_waiting("q2", "");
    commit();
    assert_replies("2:q1=a add:D 1:q1=b add:D");
}

static void test_more_jobs_than_waiters(void **state) {
    (void)state;
    wait_for(1, "q1");
    add("ADDJOB q1 a 0");
    add("ADDJOB q1 b 0");
    batch_flush();
    assert_owner(0, true);
    assert_owner(1, false);
    commit();
    assert_replies("1:q1=a add:D add:D");
    assert_int_equal(queue_named("q1")->counters.len, 1);
    assert_int_equal(queue_budget(queue_named("q1")), 1);
}

static void test_at_most_once(void **state) {
    (void)state;
    wait_for(1, "q1");
    add("ADDJOB q1 a 0 RETRY 0");
    batch_flush();
    assert_true(fake_scalar(fake_sent(fake_write_conn(), 0), ALIKE_READY_AT) == INT64_MAX);
    commit();
    assert_replies("1:q1=a add:D");
    assert_int_equal(lease_count(), 0);
}

/* A job with a TTL of its own takes the general statement. */
static void test_with_a_ttl(void **state) {
    (void)state;
    wait_for(1, "q1");
    add("ADDJOB q1 a 0 RETRY 0 TTL 100");
    add("ADDJOB q1 b 0 RETRY 0 TTL 100");
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 1);
    assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt, SQL_ADD_JOBS);
    assert_owner(0, true);
    assert_owner(1, false);
    assert_true(fake_element(fake_sent(fake_write_conn(), 0), ADD_READY_AT, 0) == INT64_MAX);
    assert_true(fake_element(fake_sent(fake_write_conn(), 0), ADD_READY_AT, 1) < INT64_MAX);
    commit();
    assert_replies("1:q1=a add:D add:D");
}

/* Jobs alike, but only some for waiting clients: these have a statement of their own. */
static void test_alike_but_for_the_owner(void **state) {
    (void)state;
    wait_for(1, "q1");
    wait_for(2, "q1");
    for (int i = 0; i < 4; i++)
        add("ADDJOB q1 a 0");
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 2);
    for (size_t i = 0; i < 4; i++)
        assert_owner(i, i < 2);
    assert_int_equal(queue_named("q1")->work->adds.sent, 2);
    commit();
    assert_replies("1:q1=a add:D 2:q1=a add:D add:D add:D");
    assert_int_equal(queue_named("q1")->work->adds.sent, 0);
}

/* ---- without a handoff ---- */

/* A claim delivers the ready job first. */
static void test_not_past_a_ready_job(void **state) {
    (void)state;
    wait_for(1, "q1");
    queue_job_returned(queue_named("q1"), (struct job_key){ 1, 0, 5 });
    add("ADDJOB q1 a 0");
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 2);
    assert_owner(0, false);
    assert_int_equal(fake_sent(fake_write_conn(), 1)->stmt, SQL_CLAIM_KEYS);
    fake_fail(fake_write_conn(), 0, "22000");
    batch_flush();
    commit();
    assert_replies("add:DBERR");
}

static void test_not_past_an_untold_job(void **state) {
    (void)state;
    wait_for(1, "q1");
    position_add_key(&queue_named("q1")->scan, (struct job_key){ 1, 0, 5 });
    add("ADDJOB q1 a 0");
    batch_flush();
    assert_owner(0, false);
    fake_fail(fake_write_conn(), 0, "22000");
    assert_replies("add:DBERR");
    assert_waiting("q1", "1");
}

/* A claim is about to deliver an older job, so this job waits. */
static void test_not_past_a_claim(void **state) {
    (void)state;
    wait_for(1, "q1");
    wait_for(2, "q1");
    queue_job_returned(queue_named("q1"), (struct job_key){ 1, 0, 5 });
    add("ADDJOB q1 a 0");
    batch_flush();
    assert_owner(0, false);
    assert_waiting("q1", "2");
    fake_fail(fake_write_conn(), 0, "22000");
    assert_waiting("q1", "1 2");
    batch_flush();
    commit();
    assert_replies("add:DBERR");
}

/* The job under way is for the waiting client. The next job is not. */
static void test_not_past_a_job_under_way(void **state) {
    (void)state;
    add("ADDJOB q1 a 0");
    batch_flush();
    wait_for(1, "q1");
    add("ADDJOB q1 b 0");
    batch_flush();
    assert_int_equal(fake_write_conn()->sent_txns, 2);
    assert_null(fake_sent_by(fake_write_conn(), 1, 0)->column[ALIKE_OWNER].ptr);
    assert_waiting("q1", "1");
    wait_for(2, "q1");
    wait_for(3, "q1");
    commit();
    add("ADDJOB q1 c 0");
    fake_fail(fake_write_conn(), 0, "22000");
    assert_replies("add:D add:DBERR");
    assert_int_equal(queue_named("q1")->work->adds.sent, 0);
    batch_flush();
    commit();
    waiters_end_all(NULL);
    getter_replies();
}

static void test_not_of_a_paused_queue(void **state) {
    (void)state;
    wait_for(1, "q1");
    queue_set_pause(queue_named("q1"), PAUSE_OUT);
    add("ADDJOB q1 a 0");
    batch_flush();
    assert_owner(0, false);
    commit();
    assert_waiting("q1", "1");
    assert_int_equal(queue_named("q1")->counters.len, 1);
    getter_replies();
}

static void test_not_of_a_delayed_job(void **state) {
    (void)state;
    wait_for(1, "q1");
    add("ADDJOB q1 a 0 DELAY 10");
    batch_flush();
    assert_owner(0, false);
    commit();
    assert_waiting("q1", "1");
    assert_int_equal(queue_named("q1")->counters.len, 0);
    assert_int_equal(queue_named("q1")->counters.total, 1);
    getter_replies();
}

static void test_not_to_a_disconnected_client(void **state) {
    (void)state;
    wait_for(1, "q1");
    wait_for(2, "q1");
    getter_hangs_up(1);
    add("ADDJOB q1 a 0");
    batch_flush();
    assert_int_equal(getters[1].ends, 1);
    commit();
    assert_replies("2:q1=a add:D");
}

/* ---- events in between ---- */

static void assert_released(void) {
    batch_flush();
    assert_int_equal(fake_count(fake_write_conn()), 1);
    assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt, SQL_RELEASE_JOBS);
    assert_int_equal(fake_elements(fake_sent(fake_write_conn(), 0), 0), 1);
}

static void test_goes_before_the_commit(void **state) {
    PGresult *rows[] = { fake_rows(COL_RELEASE_JOBS_IS_CANCELLED + 1) };

    (void)state;
    wait_for(1, "q1");
    add("ADDJOB q1 a 0");
    batch_flush();
    getters[1].killed = true;
    waiters_client_gone(&getters[1].client);
    commit();
    assert_replies("add:D");
    assert_int_equal(getters[1].ends, 1);
    assert_int_equal(lease_count(), 1);
    assert_released();
    fake_set_int(rows[0], 0, COL_RELEASE_JOBS_ORDINAL, 4, 1);
    fake_set_bytes(rows[0], 0, COL_RELEASE_JOBS_IS_CANCELLED, (struct slice){ "", 1 });
    fake_commit(fake_write_conn(), rows);
    assert_int_equal(lease_count(), 0);
    assert_int_equal(queue_named("q1")->counters.len, 1);
    assert_int_equal(queue_named("q1")->scan.key_count, 1);
}

static void test_timeout_before_the_commit(void **state) {
    struct taker *g = new_get(1, "q1");

    (void)state;
    g->deadline_us = clock_mono() + 1000;
    taker_wait(g);
    add("ADDJOB q1 a 0");
    batch_flush();
    timers_run(clock_mono() + 1000);
    assert_replies("1:nil");
    commit();
    assert_replies("add:D");
    assert_int_equal(getters[1].ends, 1);
    assert_released();
    commit();
}

static void test_txn_fails(void **state) {
    (void)state;
    wait_for(1, "q1");
    wait_for(2, "q1");
    add("ADDJOB q1 a 0");
    batch_flush();
    assert_waiting("q1", "2");
    fake_fail(fake_write_conn(), 0, "40001");
    assert_waiting("q1", "1 2");
    batch_flush();
    assert_owner(0, true);
    commit();
    assert_replies("1:q1=a add:D");
}

static void test_job_is_refused(void **state) {
    (void)state;
    wait_for(1, "q1");
    add("ADDJOB q1 a 0");
    batch_flush();
    fake_fail(fake_write_conn(), 0, "54000");
    assert_replies("add:DBERR");
    assert_waiting("q1", "1");
    assert_int_equal(queue_named("q1")->work->adds.accepted, 0);
    assert_int_equal(queue_named("q1")->counters.total, 0);
}

/* The first attempt may have committed a lease that the server does not know. The second attempt gives no lease. */
static void test_txn_is_lost(void **state) {
    (void)state;
    wait_for(1, "q1");
    add("ADDJOB q1 a 0");
    batch_flush();
    fake_lose(fake_write_conn());
    assert_waiting("q1", "1");
    fake_write_conn()->state = DB_READY;
    batch_flush();
    assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt, SQL_ADD_MISSING);
    assert_owner(0, false);
    commit();
    assert_replies("add:D");
    assert_waiting("q1", "1");
    assert_int_equal(queue_named("q1")->work->adds.accepted, 0);
}

/* A session may have taken and acknowledged the job by SQL. */
static void test_lost_beside_sql(void **state) {
    PGresult *rows[] = { fake_rows(2) };

    (void)state;
    add("ADDJOB q1 a 0");
    batch_flush();
    fake_lose(fake_write_conn());
    fake_write_conn()->state = DB_READY;
    batch_flush();
    assert_int_equal(fake_sent(fake_write_conn(), 0)->stmt, SQL_ADD_MISSING);
    fake_set_int(rows[0], 0, COL_ADD_MISSING_IS_UNSURE, 1, true);
    fake_commit(fake_write_conn(), rows);
    assert_replies("add:UNKNOWN");
    assert_int_equal(queue_named("q1")->work->adds.accepted, 0);
    assert_int_equal(queue_named("q1")->counters.total, 0);
}

static void test_lost_with_a_disconnected_client(void **state) {
    (void)state;
    wait_for(1, "q1");
    add("ADDJOB q1 a 0");
    batch_flush();
    getters[1].killed = true;
    waiters_client_gone(&getters[1].client);
    fake_lose(fake_write_conn());
    assert_int_equal(getters[1].ends, 1);
    fake_write_conn()->state = DB_READY;
    batch_flush();
    commit();
    assert_replies("add:D");
}

/* The oldest are handed over, though others go with the first of them. */
static void test_order_over_shapes(void **state) {
    (void)state;
    wait_for(1, "q1");
    wait_for(2, "q1");
    add("ADDJOB q1 a 0 RETRY 10");
    add("ADDJOB q1 b 0 RETRY 20");
    add("ADDJOB q1 c 0 RETRY 10");
    batch_flush();
    commit();
    assert_replies("1:q1=a add:D 2:q1=b add:D add:D");
}

/* ---- ms-timeout ---- */

static void test_not_sent_in_time(void **state) {
    (void)state;
    fake_write_conn()->state = DB_DOWN;
    wait_for(1, "q1");
    add("ADDJOB q1 a 100");
    batch_flush();
    timers_run(clock_mono() + 99 * US_PER_MS);
    assert_replies("");
    timers_run(clock_mono() + 100 * US_PER_MS);
    assert_replies("add:NOREPL");
    fake_write_conn()->state = DB_READY;
    batch_flush();
    assert_int_equal(fake_write_conn()->state, DB_READY);
    assert_waiting("q1", "1");
    assert_int_equal(queue_named("q1")->work->adds.accepted, 0);
    assert_int_equal(queue_named("q1")->users, 1);
}

/* The job that finds no room in the transaction is not counted as sent, and takes no client that waits. */
static void test_passed_over_and_not_sent_in_time(void **state) {
    (void)state;
    config.batch_max_bytes = 300;
    wait_for(1, "q1");
    add("ADDJOB q1 a 0");
    add("ADDJOB q1 b 0");
    add("ADDJOB q1 c 100");
    batch_flush();
    assert_int_equal(fake_write_conn()->sent_txns, 1);
    assert_int_equal(fake_count(fake_write_conn()), 2);
    assert_int_equal(queue_named("q1")->work->adds.sent, 1);
    timers_run(clock_mono() + 100 * US_PER_MS);
    assert_int_equal(queue_named("q1")->work->adds.sent, 1);
    assert_int_equal(queue_named("q1")->work->adds.accepted, 2);
    assert_replies("add:NOREPL");
    commit();
    assert_replies("1:q1=a add:D add:D");
    assert_int_equal(queue_named("q1")->work->adds.sent, 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_handoff),
        TEST(test_place_of_handoff),
        TEST(test_order_of_arrival),
        TEST(test_more_jobs_than_waiters),
        TEST(test_at_most_once),
        TEST(test_with_a_ttl),
        TEST(test_alike_but_for_the_owner),
        TEST(test_not_past_a_ready_job),
        TEST(test_not_past_an_untold_job),
        TEST(test_not_past_a_claim),
        TEST(test_not_past_a_job_under_way),
        TEST(test_not_of_a_paused_queue),
        TEST(test_not_of_a_delayed_job),
        TEST(test_not_to_a_disconnected_client),
        TEST(test_goes_before_the_commit),
        TEST(test_timeout_before_the_commit),
        TEST(test_txn_fails),
        TEST(test_job_is_refused),
        TEST(test_txn_is_lost),
        TEST(test_lost_beside_sql),
        TEST(test_lost_with_a_disconnected_client),
        TEST(test_order_over_shapes),
        TEST(test_not_sent_in_time),
        TEST(test_passed_over_and_not_sent_in_time),
    };

    return cmocka_run_group_tests_name("handoff", tests, group_start, fake_batch_stop);
}
