/* Messages of other servers about queues and jobs, and the following questions to the database. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "other_server.h"
#include "queue/queue_ready.h"
#include "queue/settings.h"
#include "random.h"

/* ---- items ---- */

static void test_shares(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    introduce();
    hear("q7,5,6,7,3,0");
    hear("q7,4,6,7,4,0 q7,4,5,7,4,0 ");
    assert_int_equal(q->counters.len, 4);
    assert_int_equal(q->counters.total, 5);
    assert_int_equal(q->counters.jobs_in, 7);
    assert_int_equal(q->counters.jobs_out, 4);
}

static void test_first_shares_of_one_met_midway(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    hear("q7,5,6,7,3,0");
    assert_int_equal(q->counters.len, 0);
    assert_true(q->counters.suspect);
    hear("e q7,6,7,8,3,0");
    assert_int_equal(q->counters.len, 1);
    answer_all();
}

static void test_asked_to_tell_all(void **state) {
    (void)state;
    queue_count_total(sure("q7"), 2);
    queue_count_len(sure("q8"), 1);
    introduce();
    hear("w");
    assert_string_equal(tell(), " q7,0,2,0,0,0 q8,1,0,0,0,0 e");
}

static void test_ready_jobs(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    introduce();
    hear("a7,0,101,1");
    assert_true(q->scan.may_have_more);
    assert_int_equal(q->scan.position.id, 100);
    hear("a7,-1,50,1");
    assert_int_equal(q->scan.key_count, 1);
    /* Several: they are not all known by their keys. */
    hear("a7,0,20,3");
    assert_true(job_key_before(q->scan.position, key_of(20)));
    hear("k7,-2,5");
    assert_int_equal(q->scan.key_count, 2);
}

static void test_a_waiter_is_woken(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    introduce();
    taker_wait(new_get(1, "q7"));
    hear("a7,0,101,1");
    assert_ptr_equal(queue_next_signalled(), q);
    waiters_end_all(NULL);
    assert_replies("1:nil");
}

/* About the lease of job id that ends then. */
static void receive_lease(char item, int64_t id, int64_t until) {
    char text[100];

    snprintf(text, sizeof text, "%c7,0,%lld,%lld", item, (long long)id, (long long)until);
    hear(text);
}

static void test_leases_that_others_end(void **state) {
    int64_t until = clock_db() + US_PER_S;

    (void)state;
    queue_named("q7");
    introduce();
    for (int64_t id = 5; id <= 7; id++)
        lease_add_row(key_of(id), until + 10, until);
    receive_lease('x', 5, until);
    receive_lease('l', 6, until);
    /* This lease is newer than the ended one. */
    receive_lease('l', 7, until - 1);
    receive_lease('x', 8, until);
    assert_false(lease_known(5) || lease_known(6));
    assert_true(lease_known(7));
    assert_int_equal(queue_named("q7")->counters.len, 0);
}

/* It was counted twice: here as ended, there as put back. */
static void test_a_lease_that_had_ended_already(void **state) {
    struct queue *q = sure("q7");
    int64_t until = clock_db() + 10;
    struct lease_end end;

    (void)state;
    introduce();
    lease_add(key_of(5), until);
    assert_true(lease_take_ended(until, &end));
    lease_end_counted(&end);
    queue_count_in(q, 1);
    queue_job_returned(q, key_of(5));
    receive_lease('l', 5, until);
    assert_int_equal(q->counters.len, 0);
    assert_int_equal(q->counters.jobs_in, 0);
    receive_lease('l', 5, until);
    assert_int_equal(q->counters.len, 0);
}

/* Put back there and claimed here, before that was heard. */
static void test_a_lease_that_was_replaced_already(void **state) {
    struct queue *q = sure("q7");
    int64_t until = clock_db() + US_PER_S;

    (void)state;
    introduce();
    lease_add(key_of(5), until);
    assert_true(lease_replace(5));
    lease_add(key_of(5), until + 1);
    receive_lease('l', 5, until);
    assert_int_equal(q->counters.len, -1);
    assert_int_equal(q->counters.jobs_in, 0);
    assert_true(lease_known(5));
}

static void test_flushed(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    introduce();
    queue_count_total(q, 5);
    lease_add(key_of(5), clock_db() + US_PER_S);
    taker_wait(new_get(1, "q7"));
    hear("f");
    assert_int_equal(q->counters.total, 0);
    assert_false(lease_known(5));
    assert_replies("1:nil");
}

/* ---- queues that are not known yet ---- */

static void set_queue_row(PGresult *rows, int row, int32_t id, const char *name, int pause) {
    fake_set_int(rows, row, 0, 4, id);
    fake_set_bytes(rows, row, 1, slice_str(name));
    fake_set_int(rows, row, 2, 2, pause);
    fake_set_int(rows, row, 3, 8, 0);
}

static void test_outbox_of_a_new_queue_waits_for_its_row(void **state) {
    PGresult *rows = fake_rows(6);
    const struct fake_statement *st;
    struct queue *q;

    (void)state;
    introduce();
    hear("a9,0,101,1 q9,1,1,1,0,0");
    st = sent(fake_write_conn(), SQL_FIND_QUEUES);
    assert_non_null(st);
    assert_int_equal(fake_element(st, 0, 0), 9);
    hear("q9,2,2,2,0,0 a8,0,5,1");
    set_queue_row(rows, 0, 9, "nine", 0);
    fake_commit(fake_write_conn(), &rows);
    /* The server asks again for the messages that came in between. Then it processes all of them. */
    assert_non_null(sent(fake_write_conn(), SQL_FIND_QUEUES));
    rows = fake_rows(6);
    set_queue_row(rows, 0, 9, "nine", 0);
    fake_commit(fake_write_conn(), &rows);
    answer_all();
    q = queue_find(SLICE("nine"));
    assert_ptr_equal(queue_find_id(9), q);
    assert_int_equal(q->counters.len, 2);
    assert_int_equal(q->counters.total, 2);
    assert_true(q->scan.may_have_more);
    assert_true(queue_budget(q) > 0);
    assert_null(queue_find_id(8));
}

/* Clients may wait for it already, by its name. */
static void test_a_queue_that_has_no_row_here(void **state) {
    PGresult *rows = fake_rows(6);
    struct queue *q = queue_get(SLICE("nine"));
    struct taker *g;

    (void)state;
    introduce();
    g = new_get(1, "q7");
    taker_wait(g);
    hear("p9");
    assert_non_null(sent(fake_write_conn(), SQL_FIND_QUEUES));
    set_queue_row(rows, 0, 9, "nine", PAUSE_OUT);
    fake_commit(fake_write_conn(), &rows);
    assert_int_equal(q->id, 9);
    assert_true(q->scan.may_have_more);
    assert_int_equal(q->pause, PAUSE_OUT);
    assert_true(q->shown);
    assert_int_equal(queue_budget(q), 0);
    waiters_end_all(NULL);
    (void)getter_replies();
}

/* PAUSE at another server, and its end: waiting clients are served. */
static void test_a_row_has_changed(void **state) {
    PGresult *rows = fake_rows(6);
    struct queue *q = sure("q7");

    (void)state;
    introduce();
    queue_set_pause(q, PAUSE_OUT);
    queue_receive_ready(q, key_of(5));
    taker_wait(new_get(1, "q7"));
    assert_null(queue_next_signalled());
    hear("p7");
    assert_non_null(sent(fake_write_conn(), SQL_FIND_QUEUES));
    set_queue_row(rows, 0, 7, "q7", 0);
    fake_commit(fake_write_conn(), &rows);
    assert_int_equal(q->pause, 0);
    assert_ptr_equal(queue_next_signalled(), q);
    waiters_end_all(NULL);
    assert_replies("1:nil");
}

/* The row was read before the second change. */
static void test_a_row_changes_while_it_is_read(void **state) {
    PGresult *rows = fake_rows(6);
    struct queue *q = sure("q7");

    (void)state;
    introduce();
    hear("p7");
    assert_non_null(sent(fake_write_conn(), SQL_FIND_QUEUES));
    hear("p7");
    set_queue_row(rows, 0, 7, "q7", PAUSE_OUT);
    fake_commit(fake_write_conn(), &rows);
    assert_int_equal(q->pause, PAUSE_OUT);
    assert_non_null(sent(fake_write_conn(), SQL_FIND_QUEUES));
    rows = fake_rows(6);
    set_queue_row(rows, 0, 7, "q7", 0);
    fake_commit(fake_write_conn(), &rows);
    assert_int_equal(q->pause, 0);
    answer_all();
}

/* When the row is there, the waiting messages come before the new ones, also if other rows are still missing. */
static void test_outbox_of_a_new_queue_are_heard_in_order(void **state) {
    PGresult *rows = fake_rows(6);
    struct queue *q;

    (void)state;
    introduce();
    hear("q9,1,1,1,0,0");
    assert_non_null(sent(fake_write_conn(), SQL_FIND_QUEUES));
    hear("q8,1,1,1,0,0");
    set_queue_row(rows, 0, 9, "nine", 0);
    fake_commit(fake_write_conn(), &rows);
    q = queue_find_id(9);
    assert_int_equal(q->counters.len, 1);
    hear("q9,2,2,2,0,0");
    answer_all();
    assert_int_equal(q->counters.len, 2);
    hear("q9,3,3,3,0,0");
    assert_int_equal(q->counters.len, 3);
}

static void set_setting(PGresult *rows, int row, const char *name, const char *value) {
    fake_set_bytes(rows, row, 4, slice_str(name));
    fake_set_bytes(rows, row, 5, slice_str(value));
}

/* The row brings all settings of another server. Settings that are gone are removed. */
static void test_settings_come_with_the_row(void **state) {
    struct queue *q = sure("q8");
    PGresult *rows = fake_rows(6);

    (void)state;
    introduce();
    settings_put(q, SETTING_TTL, 600);
    hear("p8");
    assert_non_null(sent(fake_write_conn(), SQL_FIND_QUEUES));
    set_queue_row(rows, 0, 8, "q8", 0);
    set_setting(rows, 0, "retry", "7");
    set_queue_row(rows, 1, 8, "q8", 0);
    set_setting(rows, 1, "of a newer server", "x");
    set_queue_row(rows, 2, 8, "q8", 0);
    set_setting(rows, 2, "maxlen", "5");
    fake_commit(fake_write_conn(), &rows);
    assert_int_equal(setting_of(q, SETTING_RETRY), 7);
    assert_int_equal(setting_of(q, SETTING_MAXLEN), 5);
    assert_int_equal(setting_of(q, SETTING_TTL), -1);
    hear("p8");
    assert_non_null(sent(fake_write_conn(), SQL_FIND_QUEUES));
    rows = fake_rows(6);
    set_queue_row(rows, 0, 8, "q8", 0);
    fake_commit(fake_write_conn(), &rows);
    assert_null(q->settings);
}

/* A lost message may have been about a pause. */
static void test_rows_are_read_when_something_was_missed(void **state) {
    PGresult *rows = fake_rows(6);

    (void)state;
    sure("q8");
    introduce();
    hear("z");
    assert_non_null(sent(fake_write_conn(), SQL_LOOK_QUEUES));
    /* Once more, for changes since the question. */
    hear("z");
    queue_named("q8")->counters.suspect = false;
    set_queue_row(rows, 0, 8, "q8", PAUSE_IN);
    set_queue_row(rows, 1, 9, "nine", 0);
    fake_commit(fake_write_conn(), &rows);
    assert_int_equal(queue_named("q8")->pause, PAUSE_IN);
    assert_false(queue_named("q8")->counters.suspect);
    assert_true(queue_find_id(9)->counters.suspect && queue_find_id(9)->scan.may_have_more);
    assert_non_null(sent(fake_write_conn(), SQL_LOOK_QUEUES));
    fake_fail(fake_write_conn(), 0, "22000");
    answer_all();
    assert_null(sent(fake_write_conn(), SQL_LOOK_QUEUES));
}

/* A server with many queues reads them in pages, so that other tasks need not wait for all of them. */
static void test_rows_are_read_in_pages(void **state) {
    PGresult *rows = fake_rows(6);
    const struct fake_statement *page;

    (void)state;
    introduce();
    hear("z");
    page = sent(fake_write_conn(), SQL_LOOK_QUEUES);
    assert_non_null(page);
    assert_true(fake_scalar(page, 0) == INT32_MIN && fake_scalar(page, 1) == 1000);
    for (int i = 0; i < 1000; i++) {
        char name[16];

        snprintf(name, sizeof name, "page%d", i);
        set_queue_row(rows, i, 10 + 2 * i, name, 0);
    }
    fake_commit(fake_write_conn(), &rows);
    batch_flush();
    page = sent(fake_write_conn(), SQL_LOOK_QUEUES);
    assert_non_null(page);
    assert_int_equal(fake_scalar(page, 0), 10 + 2 * 999);
    rows = fake_rows(6);
    set_queue_row(rows, 0, 5000, "last", PAUSE_OUT);
    fake_commit(fake_write_conn(), &rows);
    batch_flush();
    assert_null(sent(fake_write_conn(), SQL_LOOK_QUEUES));
    assert_int_equal(queue_named("last")->pause, PAUSE_OUT);
    answer_all();
}

/* Other software can write a row with the id 0, which means here that a queue has no row. */
static void test_a_row_with_the_id_0(void **state) {
    PGresult *rows = fake_rows(6);

    (void)state;
    introduce();
    hear("z");
    assert_non_null(sent(fake_write_conn(), SQL_LOOK_QUEUES));
    set_queue_row(rows, 0, 0, "zero", 0);
    fake_commit(fake_write_conn(), &rows);
    assert_true(queue_find(SLICE("zero"))->counters.suspect);
    answer_all();
}

static void test_rows_that_cannot_be_read(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    introduce();
    hear("q9,1,1,1,0,0");
    assert_non_null(sent(fake_write_conn(), SQL_FIND_QUEUES));
    fake_fail(fake_write_conn(), 0, "22000");
    answer_all();
    assert_true(q->counters.suspect);
    assert_null(queue_find_id(9));
    hear("q9,2,2,2,0,0");
    assert_non_null(sent(fake_write_conn(), SQL_FIND_QUEUES));
}

/* More items than are kept: the rows of all queues are read instead. */
static void test_very_many_new_queues(void **state) {
    (void)state;
    introduce();
    for (int i = 0; i < 12000; i++) {
        char item[32];

        snprintf(item, sizeof item, "q%d,1,1,1,1,0", 1000 + i);
        hear(item);
    }
    assert_non_null(sent(fake_write_conn(), SQL_LOOK_QUEUES));
    answer_all();
    assert_int_equal(queue_count(), 0);
}

/* ---- anything ---- */

static const char letters[] = "qakxlpnfzhweb ,,,,,,0123456789-- \t.%\x01\xff";

static void random_text(char *text, size_t size) {
    size_t len = (size_t)random_below(size);

    for (size_t i = 0; i < len; i++)
        text[i] = letters[random_below(sizeof letters - 1)];
    text[len] = '\0';
}

/* Sealed, as by a server gone mad; and not. */
static void test_any_text(void **state) {
    char text[300];

    (void)state;
    introduce();
    queue_named("q7");
    random_start(4242);
    for (int i = 0; i < 20000; i++) {
        random_text(text, sizeof text);
        channel.hooks->on_text(text);
        hear_sealed(text);
        hear(text);
        if (i % 1000 == 0) {
            answer_all();
            (void)tell();
        }
        QUEUE_EACH(q) {
            struct job_key key;

            while (position_take_key(&q->scan, &key))
                continue;
        }
    }
}

static void test_extreme_numbers(void **state) {
    static const char *const numbers[] = {
        "-9223372036854775808", "9223372036854775807", "99999999999999999999", "-1", "0", "4294967303"
    };
    char text[300];

    (void)state;
    introduce();
    queue_named("q7");
    for (size_t i = 0; i < LENGTH(numbers); i++) {
        for (const char *letter = "qakxlp"; *letter != '\0'; letter++) {
            snprintf(text, sizeof text, "%c7,%s,%s,%s,%s %c%s,1,1,1,1 %c7,0,%s", *letter, numbers[i],
                     numbers[i], numbers[i], numbers[i], *letter, numbers[i], *letter, numbers[i]);
            hear(text);
        }
        answer_all();
    }
}

static int load_and_start(void **state) {
    int failed = group_start(state);

    peers_loaded();
    return failed;
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_shares),
        TEST(test_first_shares_of_one_met_midway),
        TEST(test_asked_to_tell_all),
        TEST(test_ready_jobs),
        TEST(test_a_waiter_is_woken),
        TEST(test_leases_that_others_end),
        TEST(test_a_lease_that_had_ended_already),
        TEST(test_a_lease_that_was_replaced_already),
        TEST(test_flushed),
        TEST(test_outbox_of_a_new_queue_waits_for_its_row),
        TEST(test_a_queue_that_has_no_row_here),
        TEST(test_a_row_has_changed),
        TEST(test_a_row_changes_while_it_is_read),
        TEST(test_outbox_of_a_new_queue_are_heard_in_order),
        TEST(test_settings_come_with_the_row),
        TEST(test_rows_are_read_when_something_was_missed),
        TEST(test_rows_are_read_in_pages),
        TEST(test_a_row_with_the_id_0),
        TEST(test_rows_that_cannot_be_read),
        TEST(test_very_many_new_queues),
        TEST(test_any_text),
        TEST(test_extreme_numbers),
    };

    return cmocka_run_group_tests_name("queues of peers", tests, load_and_start, fake_batch_stop);
}
