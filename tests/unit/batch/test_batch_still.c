/* Still moments: a read sees exactly the changes whose tasks have ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "batch_tasks.h"

#define HOLD_US (250 * US_PER_MS)
#define CONNECT_US (3 * US_PER_S)

static int missed;

static void on_missed(void) {
    missed++;
}

/* In these tests LONG is opened before LARGE. */
static struct db_conn *conn_of_kind(enum conn_kind kind) {
    for (size_t i = 0; i < fake_db.conn_count; i++)
        if (fake_db.conns[i]->kind == kind)
            return fake_db.conns[i];
    fail_msg("connection %d is not open", (int)kind);
    return NULL;
}

static size_t place_of(enum conn_kind kind) {
    struct db_conn *conn = conn_of_kind(kind);

    for (size_t i = 0;; i++)
        if (fake_db.conns[i] == conn)
            return i;
}

static int still_start(void **state) {
    int failed = trial_start(state);

    missed = 0;
    clock_turn();
    for (size_t i = 0; i < fake_db.conn_count; i++)
        fake_db.conns[i]->state = DB_READY;
    return failed;
}

static void ask(struct trial *t) {
    batch_add_still(&t->task, on_missed);
    batch_flush();
}

#define assert_sent(kind, expected) assert_txn(place_of(kind), expected)

static void end_with(enum conn_kind kind) {
    commit(place_of(kind));
}

static void test_no_change_is_under_way(void **state) {
    (void)state;
    ask(&s[1]);
    assert_sent(CONN_LONG, "s1");
    add(&a[1]);
    batch_flush();
    assert_txn(WRITE, "");
    fake_take_snapshot(conn_of_kind(CONN_LONG));
    batch_flush();
    assert_txn(WRITE, "a1");
    end_with(CONN_LONG);
    commit(WRITE);
    assert_events("done:s1 done:a1");
    assert_int_equal(missed, 0);
}

static void test_changes_that_are_sent_end_first(void **state) {
    (void)state;
    add(&a[1]);
    batch_flush();
    ask(&s[1]);
    assert_sent(CONN_LONG, "");
    add(&b[1]);
    batch_flush();
    commit(WRITE);
    batch_flush();
    assert_txn(WRITE, "");
    assert_sent(CONN_LONG, "s1");
    fake_take_snapshot(conn_of_kind(CONN_LONG));
    batch_flush();
    assert_txn(WRITE, "b1");
    commit(WRITE);
    end_with(CONN_LONG);
    assert_events("done:a1 done:b1 done:s1");
}

/* Changes over CONN_WRITE go on while a large one is under way. */
static void test_large_changes_end_first(void **state) {
    (void)state;
    add(&large_trials[1]);
    batch_flush();
    batch_flush();
    assert_sent(CONN_LARGE, "l1");
    ask(&s[1]);
    add(&large_trials[2]);
    add(&a[1]);
    batch_flush();
    assert_txn(WRITE, "a1");
    commit(WRITE);
    end_with(CONN_LARGE);
    batch_flush();
    assert_sent(CONN_LARGE, "");
    assert_sent(CONN_LONG, "s1");
    fake_take_snapshot(conn_of_kind(CONN_LONG));
    batch_flush();
    assert_sent(CONN_LARGE, "l2");
    end_with(CONN_LARGE);
    end_with(CONN_LONG);
    assert_events("done:a1 done:l1 done:l2 done:s1");
}

/* A change takes long. The others go on, and the moment is tried again a second later. */
static void test_moment_does_not_come(void **state) {
    (void)state;
    add(&a[1]);
    batch_flush();
    ask(&s[1]);
    add(&a[2]);
    pass_time(HOLD_US + US_PER_MS);
    batch_flush();
    assert_second_txn(WRITE, "a2");
    commit(WRITE);
    commit(WRITE);
    batch_flush();
    assert_sent(CONN_LONG, "");
    pass_time(US_PER_S);
    batch_flush();
    assert_sent(CONN_LONG, "s1");
    end_with(CONN_LONG);
    assert_events("done:a1 done:a2 done:s1");
}

/* The second try waits longer for a slow commit. */
static void test_slow_commits(void **state) {
    (void)state;
    add(&a[1]);
    batch_flush();
    ask(&s[1]);
    pass_time(HOLD_US + US_PER_MS);
    batch_flush();
    commit(WRITE);
    add(&a[2]);
    assert_commits("a2");
    add(&a[3]);
    batch_flush();
    pass_time(US_PER_S);
    batch_flush();
    pass_time(HOLD_US + HOLD_US / 4);
    add(&a[4]);
    batch_flush();
    commit(WRITE);
    batch_flush();
    assert_txn(WRITE, "");
    assert_sent(CONN_LONG, "s1");
    end_with(CONN_LONG);
    assert_commits("a4");
    assert_events("done:a1 done:a2 done:a3 done:s1 done:a4");
}

/* The snapshot may be later than the changes that follow. */
static void test_snapshot_is_late(void **state) {
    (void)state;
    ask(&s[1]);
    add(&a[1]);
    pass_time(HOLD_US + US_PER_MS);
    batch_flush();
    assert_txn(WRITE, "a1");
    assert_int_equal(missed, 1);
    commit(WRITE);
    end_with(CONN_LONG);
    assert_events("done:a1 done:s1");
    ask(&s[2]);
    pass_time(HOLD_US + HOLD_US / 4);
    batch_flush();
    assert_int_equal(missed, 1);
    fake_take_snapshot(conn_of_kind(CONN_LONG));
    end_with(CONN_LONG);
    assert_events("done:s2");
}

/* A server that stops does not wait for the read. */
static void test_idle_beside_the_read(void **state) {
    (void)state;
    ask(&s[1]);
    batch_flush();
    fake_take_snapshot(conn_of_kind(CONN_LONG));
    assert_true(batch_idle());
    end_with(CONN_LONG);
    assert_events("done:s1");
}

static void test_read_is_lost(void **state) {
    (void)state;
    s[1].task.op->again = trial_again;
    s[1].gives_up = true;
    ask(&s[1]);
    add(&a[1]);
    batch_flush();
    lose(place_of(CONN_LONG));
    batch_flush();
    s[1].task.op->again = NULL;
    assert_txn(WRITE, "a1");
    commit(WRITE);
    assert_events("again:s1? done:a1");
}

/* CONN_LONG is lost while the moment is awaited. */
static void test_reader_is_lost_before(void **state) {
    (void)state;
    add(&a[1]);
    batch_flush();
    ask(&s[1]);
    conn_of_kind(CONN_LONG)->state = DB_DOWN;
    commit(WRITE);
    add(&a[2]);
    assert_commits("a2");
    conn_of_kind(CONN_LONG)->state = DB_READY;
    pass_time(US_PER_S + US_PER_MS);
    batch_flush();
    assert_sent(CONN_LONG, "s1");
    end_with(CONN_LONG);
    assert_events("done:a1 done:a2 done:s1");
}

/* Until it is known what a lost transaction has done, its effects are not in memory. */
static void test_lost_changes_end_first(void **state) {
    (void)state;
    add(&b[1]);
    batch_flush();
    lose(WRITE);
    ask(&s[1]);
    assert_sent(CONN_LONG, "");
    assert_txn(WRITE, "b1");
    commit(WRITE);
    batch_flush();
    assert_sent(CONN_LONG, "s1");
    end_with(CONN_LONG);
    assert_events("done:b1 done:s1");
}

/* CONN_LONG cannot be connected: CONN_READ executes the read, and changes wait for its end. */
static void test_without_long_reads(void **state) {
    (void)state;
    conn_of_kind(CONN_LONG)->state = DB_DOWN;
    ask(&s[1]);
    add(&a[1]);
    batch_flush();
    assert_txn(WRITE, "a1");
    commit(WRITE);
    pass_time(CONNECT_US + US_PER_MS);
    batch_flush();
    assert_txn(READ, "s1");
    add(&a[2]);
    pass_time(HOLD_US + US_PER_MS);
    batch_flush();
    assert_txn(WRITE, "");
    commit(READ);
    assert_commits("a2");
    assert_events("done:a1 done:s1 done:a2");
    assert_int_equal(missed, 0);
}

#define TEST(test) cmocka_unit_test_setup(test, still_start)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_no_change_is_under_way),
        TEST(test_changes_that_are_sent_end_first),
        TEST(test_large_changes_end_first),
        TEST(test_moment_does_not_come),
        TEST(test_slow_commits),
        TEST(test_snapshot_is_late),
        TEST(test_idle_beside_the_read),
        TEST(test_read_is_lost),
        TEST(test_reader_is_lost_before),
        TEST(test_lost_changes_end_first),
        TEST(test_without_long_reads),
    };

    return cmocka_run_group_tests_name("batch_still", tests, trial_group_start, trial_group_stop);
}
