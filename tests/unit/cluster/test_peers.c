/* The other servers: valid messages, life signs, lost messages, and times of notes. */
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

/* ---- before it has loaded ---- */

/* Goes first. */
static void test_takes_no_part_before_it_has_loaded(void **state) {
    (void)state;
    hear("h");
    assert_null(node());
    assert_true(peers_next_due() == INT64_MAX);
    outbox_note(OUTBOX_ROW);
    peers_turn();
    assert_string_equal(channel.sent, "");
    peers_leave();
    tick_a_second();
    answer_all();
    channel.hooks->on_up();
    peers_loaded();
    assert_string_equal(tell(), " h p w");
}

/* ---- valid messages ---- */

static void test_the_head_of_a_message(void **state) {
    unsigned format, number, waiting;
    unsigned long long seal, my_run, first, second;
    int end = 0;

    (void)state;
    outbox_note(OUTBOX_SUSPECT);
    (void)tell();
    assert_int_equal(sscanf(channel.sent, "%u %llx%n %u %llx %llu %u", &format, &seal, &end, &number, &my_run,
                            &first, &waiting),
                     6);
    assert_int_equal(format, 1);
    assert_int_equal(number, 500);
    assert_int_equal(waiting, 0);
    assert_true(seal == jobid_seal(slice_str(channel.sent + end)));
    outbox_note(OUTBOX_SUSPECT);
    (void)tell();
    assert_int_equal(sscanf(channel.sent, "%*u %*x %*u %*x %llu", &second), 1);
    assert_true(second == first + 1);
}

static void test_tells_that_clients_wait(void **state) {
    unsigned waiting;

    (void)state;
    taker_wait(new_get(1, "q7"));
    peers_tick();
    waiters_end_all(NULL);
    outbox_note(OUTBOX_SUSPECT);
    (void)tell();
    assert_int_equal(sscanf(channel.sent, "%*u %*x %*u %*x %*u %u", &waiting), 1);
    assert_int_equal(waiting, 1);
    assert_string_equal(getter_replies(), "1:nil");
}

/* The receiver takes the sender's ready times by its own clock. */
static void test_the_time_is_told(void **state) {
    int64_t ahead = clock_db() + 200 * US_PER_MS;
    char items[40];
    long long told;

    (void)state;
    snprintf(items, sizeof items, "o%lld", (long long)ahead);
    hear(items);
    assert_int_equal(clock_db(), ahead);
    outbox_note(OUTBOX_SUSPECT);
    (void)tell();
    assert_int_equal(sscanf(channel.sent, "%*u %*x %*u %*x %*u %*u o%lld ", &told), 1);
    assert_int_equal(told, ahead);
}

static void assert_unheard(const char *text) {
    size_t count;

    channel.hooks->on_text(text);
    (void)node_all(&count);
    if (count != 1)
        fail_msg("believed: %s", text);
}

static void test_strangers_are_not_believed(void **state) {
    char text[200], seal[40];

    (void)state;
    snprintf(text, sizeof text, " %u 1000 42 0 h", other);
    snprintf(seal, sizeof seal, "%llx", (unsigned long long)jobid_seal(slice_str(text)));
    assert_unheard("");
    assert_unheard("1");
    assert_unheard("hello");
    assert_unheard(text);
    for (int i = 0; i < 3; i++) {
        static const char *const forms[] = { "2 %s%s", "1 %s0%s", "1 %s%s " };
        char whole[300];

        snprintf(whole, sizeof whole, forms[i], seal, text);
        assert_unheard(whole);
    }
    snprintf(text, sizeof text, " 500 1000 42 0 f");
    hear_sealed(text);
    snprintf(text, sizeof text, " 0 1000 42 0 h");
    hear_sealed(text);
    snprintf(text, sizeof text, " 1024 1000 42 0 h");
    hear_sealed(text);
    snprintf(text, sizeof text, " %u 1000 forty 0 h", other);
    hear_sealed(text);
    snprintf(text, sizeof text, " %u 1000 42", other);
    hear_sealed(text);
    assert_unheard("1 ");
    hear("");
    assert_true(node()->live);
}

/* A number above the range is no other server's number. */
static void test_numbers_too_large(void **state) {
    char text[100];
    size_t count;

    (void)state;
    snprintf(text, sizeof text, " %u 1000 42 0 h", 65536u + other);
    hear_sealed(text);
    snprintf(text, sizeof text, " %u 1000 42 0 h", 65536u + 500);
    hear_sealed(text);
    (void)node_all(&count);
    assert_int_equal(count, 1);
}

/* A repeated message is refused as well. */
static void test_replays(void **state) {
    (void)state;
    introduce();
    message--;
    hear("q7,1,1,1,1,0 b");
    assert_true(node()->live);
    message -= 5;
    hear("b");
    run--;
    message = 1000;
    hear("b");
    assert_true(node()->live);
    run++;
    message = 42;
    hear("b");
    assert_false(node()->live);
}

/* A restarted server knows no message, and any listener can repeat one. */
static void test_old_messages(void **state) {
    (void)state;
    late_us = 11 * US_PER_S;
    hear("e b");
    assert_null(node());
    late_us = -11 * US_PER_S;
    hear("e");
    assert_null(node());
    late_us = 9 * US_PER_S;
    hear("e");
    assert_true(node()->live);
}

static void test_without_a_time(void **state) {
    char body[100];

    (void)state;
    snprintf(body, sizeof body, " %u 1000 42 0 e", other);
    hear_sealed(body);
    snprintf(body, sizeof body, " %u 1000 42 0 e o%lld", other, (long long)clock_db());
    hear_sealed(body);
    assert_null(node());
}

/* The next message shows that one was lost. */
static void test_after_an_old_message(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    introduce();
    assert_false(q->counters.suspect);
    late_us = 11 * US_PER_S;
    hear("q7,1,1,1,1,0");
    assert_false(q->counters.suspect);
    late_us = 0;
    hear("");
    assert_true(q->counters.suspect);
}

/* ---- life signs ---- */

static void test_appears(void **state) {
    (void)state;
    receive_from(other, 1, "");
    assert_true(node()->live && peer()->waiting && !peer()->synced);
    assert_true(node_has_peers());
    assert_int_equal(rows_asked_for, 1);
    hear("e");
    assert_true(peer()->synced && !peer()->waiting);
}

/* Until it has told all. */
static void test_is_asked_to_tell_all(void **state) {
    (void)state;
    hear("");
    answer_all();
    tick_a_second();
    answer_all();
    assert_non_null(strstr(tell(), " w"));
    hear("e");
    tick_a_second();
    answer_all();
    assert_null(strstr(tell(), " w"));
}

static void test_is_silent(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    introduce();
    be_silent(5 * US_PER_S);
    peers_tick();
    assert_true(node()->live);
    assert_false(q->counters.suspect);
    be_silent(5 * US_PER_S + 1);
    peers_tick();
    assert_false(node()->live);
    assert_false(node()->left);
    assert_true(q->counters.suspect && q->scan.may_have_more);
    assert_false(node_has_peers());
    assert_true(peers_adopts(other));
    hear("");
    assert_true(node()->live && !peer()->synced);
    assert_false(peers_adopts(other));
}

/* While we are polls, everybody seems to be silent. */
static void test_is_not_heard(void **state) {
    (void)state;
    introduce();
    channel.up = false;
    be_silent(20 * US_PER_S);
    tick_a_second();
    assert_true(node()->live);
    answer_all();
}

static PGresult *lease_row(int64_t id, int64_t until, int16_t owner) {
    PGresult *res = fake_rows(6);

    fake_set_int(res, 0, 0, 4, 7);
    fake_set_int(res, 0, 1, 2, 0);
    fake_set_int(res, 0, 2, 8, id);
    fake_set_int(res, 0, 3, 8, until - INT64_C(946684800000000));
    fake_set_int(res, 0, 4, 2, owner);
    fake_set_int(res, 0, 5, 1, false);
    return res;
}

static void test_the_inheriting_server_ends_leases(void **state) {
    const struct fake_statement *st;
    PGresult *rows[DB_MAX_STATEMENTS] = { NULL };
    struct lease_end end;

    (void)state;
    node_self()->number = 5;
    introduce();
    hear("b");
    node_self()->number = 500;
    st = sent(side(), SQL_ADOPT_LEASES);
    assert_non_null(st);
    assert_int_equal(fake_elements(st, 1), 1);
    assert_int_equal(fake_element(st, 1, 0), 500);
    rows[st - fake_sent(side(), 0)] = lease_row(77, clock_db() + US_PER_S, (int16_t)other);
    fake_commit(side(), rows);
    assert_true(lease_take_ended(clock_db() + 2 * US_PER_S, &end));
    assert_true(end.key.id == 77 && end.owner == other);
    assert_true(peers_adopts(other));
}

/* A lease that this server gave in between is its own. */
static void test_a_lease_that_is_known_is_not_inherited(void **state) {
    PGresult *rows[DB_MAX_STATEMENTS] = { NULL };
    const struct fake_statement *st;
    struct lease_end end;

    (void)state;
    introduce();
    hear("b");
    lease_add(key_of(77), clock_db() + 10);
    st = sent(side(), SQL_ADOPT_LEASES);
    assert_non_null(st);
    rows[st - fake_sent(side(), 0)] = lease_row(77, clock_db() + US_PER_S, (int16_t)other);
    fake_commit(side(), rows);
    assert_true(lease_take_ended(clock_db() + 10, &end));
    assert_int_equal(end.owner, 0);
}

static void test_only_the_inheriting_server_ends_leases(void **state) {
    uint16_t dead = other;

    (void)state;
    introduce();
    other = 4;
    run = 0x1001;
    introduce();
    receive_from(dead, 0, "b");
    assert_null(sent(side(), SQL_ADOPT_LEASES));
    assert_false(peers_adopts(dead));
    /* The leader fails, too. */
    hear("b");
    assert_non_null(sent(side(), SQL_ADOPT_LEASES));
    assert_true(peers_adopts(dead) && peers_adopts(4));
}

static void test_signs_off(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    introduce();
    hear("q7,1,1,1,0,0 b");
    assert_false(node()->live);
    assert_true(node()->left);
    assert_true(q->counters.suspect);
    assert_int_equal(q->counters.total, 1);
}

/* The server has left before, so nothing about it is unknown. */
static void test_starts_again(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    introduce();
    hear("q7,1,2,3,4,0 b");
    q->counters.suspect = q->scan.may_have_more = false;
    run++;
    message = 0;
    hear("h q7,1,1,1,0,0");
    assert_int_equal(q->counters.len, 2);
    assert_int_equal(q->counters.total, 3);
    assert_int_equal(q->counters.jobs_in, 4);
    assert_int_equal(q->counters.jobs_out, 4);
    assert_false(q->counters.suspect);
    assert_true(peer()->synced);
}

/* The server restarts before the others miss it. It may have died before it told everything. */
static void test_dies_and_starts_again(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    introduce();
    run++;
    message = 0;
    hear("h");
    assert_true(q->counters.suspect && q->scan.may_have_more);
    assert_true(node()->live && peer()->synced);
}

/* ---- lost messages ---- */

/* The queue is quiet, and this is its row of count_queues. */
static void count_again(struct queue *q, const int64_t row[6]) {
    PGresult *res = fake_rows(8);

    for (int i = 0; i < 8; i++)
        fake_set_int(res, 0, i, i == 0 ? 4 : 8, i < 6 ? row[i] : 0);
    q->counters.changed_us = clock_mono() - US_PER_S;
    counter_audit_tick();
    assert_non_null(sent(side(), SQL_COUNT_QUEUES));
    fake_commit(side(), &res);
    counter_audit_tick();
    assert_false(q->counters.suspect);
}

static void test_a_message_is_missing(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    introduce();
    hear("");
    assert_false(q->counters.suspect || q->scan.may_have_more);
    message++;
    hear("");
    assert_true(q->counters.suspect && q->scan.may_have_more);
    q->counters.suspect = q->scan.may_have_more = false;
    hear("");
    assert_false(q->counters.suspect || q->scan.may_have_more);
}

/* It is in the count of the database by then, and is told late. */
static void test_a_share_that_was_missed_counts_once(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    introduce();
    hear("q7,1,1,1,0,0");
    message++;
    hear("");
    assert_false(peer()->synced);
    answer_all();
    count_again(q, (const int64_t[]){ 7, 5, 4, 9, 8, 0 });
    hear("q7,4,5,6,2,0");
    assert_int_equal(q->counters.len, 4);
    assert_int_equal(q->counters.total, 5);
    assert_int_equal(q->counters.jobs_in, 9);
    assert_int_equal(q->counters.jobs_out, 8);
    assert_true(q->counters.suspect);
    hear("e");
    count_again(q, (const int64_t[]){ 7, 5, 4, 9, 8, 0 });
    hear("q7,5,6,7,2,0");
    assert_int_equal(q->counters.jobs_in, 10);
    assert_false(q->counters.suspect);
}

static void test_doubts(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    introduce();
    hear("z");
    assert_true(q->counters.suspect && q->scan.may_have_more);
    q->counters.suspect = q->scan.may_have_more = false;
    peers_announce_unknown();
    assert_true(q->counters.suspect);
    assert_string_equal(tell(), " z");
}

static void test_nothing_to_confess_when_alone(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    peers_announce_unknown();
    assert_false(q->counters.suspect);
    assert_string_equal(tell(), "");
}

static void test_hears_again(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    introduce();
    channel.hooks->on_up();
    assert_true(q->counters.suspect && q->scan.may_have_more);
    assert_false(peer()->synced);
    assert_string_equal(tell(), " w");
}

/* As it is read from the database. */
static void give_row(void) {
    struct node row = { .number = other };

    memset(row.id, 'f', NODE_ID_LEN);
    node_update(&row);
}

static void test_states(void **state) {
    (void)state;
    channel.up = false;
    assert_string_equal(peers_state(), "alone");
    introduce();
    give_row();
    assert_string_equal(peers_state(), "polling");
    channel.up = true;
    assert_string_equal(peers_state(), "listening");
}

/* It has to look, and to be seen to live. */
static void test_deaf(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    introduce();
    give_row();
    channel.up = false;
    tick_a_second();
    assert_true(q->scan.may_have_more);
    answer_all();
    for (int i = 0; i < 10; i++) {
        tick_a_second();
        answer_all();
    }
    assert_true(q->counters.suspect);
    assert_string_equal(peers_state(), "polling");
    assert_int_equal(rows_asked_for, 2);
}

/* ---- when it is told ---- */

static int64_t due_in(void) {
    return peers_next_due() - clock_mono();
}

static void test_how_soon(void **state) {
    struct queue *q = sure("q7");

    (void)state;
    outbox_note(OUTBOX_SUSPECT);
    (void)tell();
    assert_true(due_in() > 4 * US_PER_S);
    introduce();
    outbox_note(OUTBOX_SUSPECT);
    (void)tell();
    assert_int_equal(due_in(), US_PER_S);
    queue_count_total(q, 1);
    assert_int_equal(due_in(), 100 * US_PER_MS);
    queue_job_ready(q, key_of(5));
    assert_int_equal(due_in(), 20 * US_PER_MS);
    receive_from(other, 1, "");
    assert_int_equal(due_in(), 2 * US_PER_MS);
    channel.full = true;
    assert_true(peers_next_due() == INT64_MAX);
    channel.sent[0] = '\0';
    peers_turn();
    assert_string_equal(channel.sent, "");
}

/* ---- the end ---- */

/* Goes last. */
static void test_signs_off_itself(void **state) {
    (void)state;
    introduce();
    assert_true(peers_idle());
    peers_leave();
    assert_false(peers_idle());
    assert_non_null(sent(side(), SQL_LEAVE_NODE));
    answer_all();
    assert_string_equal(tell(), " b");
    channel.full = true;
    assert_false(peers_idle());
    channel.full = false;
    assert_true(peers_idle());
    peers_leave();
    assert_null(sent(side(), SQL_LEAVE_NODE));
    assert_string_equal(tell(), "");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_takes_no_part_before_it_has_loaded),
        TEST(test_the_head_of_a_message),
        TEST(test_tells_that_clients_wait),
        TEST(test_the_time_is_told),
        TEST(test_strangers_are_not_believed),
        TEST(test_numbers_too_large),
        TEST(test_replays),
        TEST(test_old_messages),
        TEST(test_without_a_time),
        TEST(test_after_an_old_message),
        TEST(test_appears),
        TEST(test_is_asked_to_tell_all),
        TEST(test_is_silent),
        TEST(test_is_not_heard),
        TEST(test_the_inheriting_server_ends_leases),
        TEST(test_a_lease_that_is_known_is_not_inherited),
        TEST(test_only_the_inheriting_server_ends_leases),
        TEST(test_signs_off),
        TEST(test_starts_again),
        TEST(test_dies_and_starts_again),
        TEST(test_a_message_is_missing),
        TEST(test_a_share_that_was_missed_counts_once),
        TEST(test_doubts),
        TEST(test_nothing_to_confess_when_alone),
        TEST(test_hears_again),
        TEST(test_states),
        TEST(test_deaf),
        TEST(test_how_soon),
        TEST(test_signs_off_itself),
    };

    return cmocka_run_group_tests_name("peers", tests, group_start, fake_batch_stop);
}
