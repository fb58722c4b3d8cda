/* Messages of SQL transactions, in any order, and repeated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "cluster/peer_sql.h"
#include "jobs/schedule.h"
#include "other_server.h"

static void receive_sql(uint64_t number, const char *items) {
    char body[NOTIFY_TEXT_MAX];

    snprintf(body, sizeof body, " 0 0 %llu 0 o%lld %s", (unsigned long long)number,
             (long long)(clock_db() - late_us), items);
    hear_sealed(body);
}

/* Counters that were read long ago. */
static int begin(void **state) {
    int failed = start(state);

    peer_sql_reset();
    return failed;
}

static void test_counts_as_this_servers_doing(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    /* The number is higher than this server's. */
    other = 600;
    introduce();
    receive_sql(1, "c7,3,4,5,1");
    assert_int_equal(q->counters.len, 3);
    assert_int_equal(q->counters.total, 4);
    assert_int_equal(q->counters.jobs_in, 5);
    assert_int_equal(q->counters.jobs_out, 1);
    q->counters.oldest_due_us = 6;
    assert_string_equal(tell(), " q7,3,4,5,1,0 j7,0,0,6");
    receive_sql(2, "j7,2,-1");
    assert_int_equal(q->counters.delayed, 2);
    assert_int_equal(q->counters.waiting, -1);
    assert_string_equal(tell(), " q7,3,4,5,1,0 j7,2,-1,6");
}

/* A transaction may have taken long, or the message is repeated after a restart of this server. */
static void test_an_old_message_counts_nothing(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    other = 601;
    introduce();
    late_us = 11 * US_PER_S;
    receive_sql(1, "c7,3,4,5,1");
    assert_int_equal(q->counters.len, 0);
    assert_true(q->counters.suspect);
}

/* Only one server counts a change by SQL: the lowest number that lives. */
static void test_the_inheriting_server_counts(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    receive_sql(1, "c7,1,1,1,0");
    introduce();
    receive_sql(2, "c7,1,1,1,0 g7,0,9,1000,0");
    assert_int_equal(q->counters.len, 1);
    assert_false(q->counters.suspect);
    assert_false(lease_known(9));
}

static void test_each_message_counts_once(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    receive_sql(5, "c7,1,1,1,0");
    receive_sql(3, "c7,1,1,1,0");
    assert_int_equal(q->counters.len, 2);
    assert_false(q->counters.suspect);
    receive_sql(5, "c7,1,1,1,0");
    assert_int_equal(q->counters.len, 2);
    assert_true(q->counters.suspect);
    q->counters.suspect = false;
    receive_sql(4096 + 4, "c7,1,1,1,0");
    assert_int_equal(q->counters.len, 3);
    /* These lie too far back to be known. */
    receive_sql(3, "c7,1,1,1,0");
    receive_sql(4, "c7,1,1,1,0");
    assert_int_equal(q->counters.len, 3);
    assert_true(q->counters.suspect);
    q->counters.suspect = false;
    receive_sql(1000000, "c7,1,1,1,0");
    receive_sql(999000, "c7,1,1,1,0");
    receive_sql(4096 + 5, "c7,1,1,1,0");
    assert_int_equal(q->counters.len, 5);
    assert_true(q->counters.suspect);
}

static void test_counted_with_loaded_counters(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    peer_sql_counted_again();
    receive_sql(1, "c7,1,1,1,0 a7,0,100,1");
    assert_int_equal(q->counters.len, 0);
    assert_true(q->counters.suspect);
    assert_true(q->scan.may_have_more);
}

static void test_ready_jobs_and_leases(void **state) {
    struct queue *q = sure("q7");
    struct lease_end end;

    (void)state;
    receive_sql(1, "c7,2,2,2,0 a7,0,100,2");
    assert_true(q->scan.may_have_more);
    assert_int_equal(q->scan.position.id, 99);
    receive_sql(2, "c7,-1,0,0,1 g7,0,100,5000,0");
    assert_true(lease_known(100));
    receive_sql(3, "l7,0,100,5000 g7,0,100,9000,0");
    assert_true(lease_known(100));
    assert_int_equal(lease_next_end(), 9000);
    receive_sql(4, "x7,0,100,9000 c7,0,-1,0,0");
    assert_false(lease_known(100));
    assert_int_equal(q->counters.len, 1);
    assert_int_equal(q->counters.total, 1);
    receive_sql(5, "g7,0,101,1,1");
    assert_true(lease_take_ended(2, &end));
    assert_true(end.last);
}

static void test_jobs_that_were_not_told(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    receive_sql(1, "v7");
    assert_true(q->counters.suspect);
    assert_true(q->scan.may_have_more);
}

static void test_a_new_queue_waits_for_its_row(void **state) {
    (void)state;
    receive_sql(1, "p77 c77,1,1,1,0 a77,0,100,1");
    assert_null(queue_find_id(77));
    answer_all();
    assert_null(queue_find_id(77));
}

/* A message of a server about itself has no effect if it comes from SQL. */
static void test_messages_of_servers(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    introduce();
    rows_asked_for = 0;
    receive_sql(1, "b z h w e n f c c7 c7,1 g7,0 t g7,0,9,1000 v a7 x7,1");
    assert_true(node()->live);
    assert_int_equal(q->counters.len, 0);
    assert_false(q->counters.suspect);
    assert_int_equal(rows_asked_for, 0);
}

static void test_the_time_is_told(void **state) {
    int64_t ahead = clock_db() + 200 * US_PER_MS;
    char items[40];

    (void)state;
    snprintf(items, sizeof items, "o%lld", (long long)ahead);
    receive_sql(7, items);
    assert_int_equal(clock_db(), ahead);
}

/* The highest number has no successor. */
static void test_the_highest_number(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    receive_sql(UINT64_MAX - 5, "c7,1,1,1,0");
    receive_sql(UINT64_MAX, "c7,1,1,1,0");
    assert_int_equal(q->counters.len, 2);
    receive_sql(UINT64_MAX, "c7,1,1,1,0");
    assert_int_equal(q->counters.len, 2);
}

static void test_other_senders_are_ignored(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    channel.hooks->on_text("1 123456789abcdef0 0 0 1 0 c7,1,1,1,0 v7");
    assert_int_equal(q->counters.len, 0);
    assert_false(q->counters.suspect);
}

static int load_and_start(void **state) {
    int failed = group_start(state);

    peers_loaded();
    return failed;
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, begin, stop)

/* The server may wait for a tick far ahead, or for its next poll. */
static void test_schedules_are_read_at_once(void **state) {
    (void)state;
    schedule_turn();
    answer_all();
    assert_true(schedule_next_turn() > clock_db());
    receive_sql(1, "s");
    assert_true(schedule_next_turn() <= clock_db());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_counts_as_this_servers_doing),
        TEST(test_the_inheriting_server_counts),
        TEST(test_each_message_counts_once),
        TEST(test_an_old_message_counts_nothing),
        TEST(test_counted_with_loaded_counters),
        TEST(test_ready_jobs_and_leases),
        TEST(test_jobs_that_were_not_told),
        TEST(test_a_new_queue_waits_for_its_row),
        TEST(test_messages_of_servers),
        TEST(test_other_senders_are_ignored),
        TEST(test_the_time_is_told),
        TEST(test_the_highest_number),
        TEST(test_schedules_are_read_at_once),
    };

    return cmocka_run_group_tests_name("SQL as a peer", tests, load_and_start, fake_batch_stop);
}
