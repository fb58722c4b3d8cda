/* Tasks of the same shape: the use of the cheaper statement, and the tasks that share it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "batch_tasks.h"

/* Adds m[1] ... with these shapes, two digits each. "00" is no shape. */
static void add_shapes(const char *shapes) {
    for (int i = 1; *shapes != '\0'; i++, shapes += 3) {
        m[i].shape = atoi(shapes);
        add(&m[i]);
        if (shapes[2] == '\0')
            return;
    }
}

static void test_one_shape(void **state) {
    (void)state;
    add_shapes("11 11 11");
    batch_flush();
    assert_txn(WRITE, "m/11:1,2,3");
    assert_int_equal(trial_begins, 1);
    assert_int_equal(m[3].task.first_row, 2);
    commit(WRITE);
    assert_events("alike done:m1,m2,m3");
    assert_all_ended();
}

/* The shapes differ in either half. */
static void test_few_shapes(void **state) {
    (void)state;
    add_shapes("11 12 21 11 21");
    add(&a[1]);
    batch_flush();
    assert_txn(WRITE, "a1 m/11:1,4 m/12:2 m/21:3,5");
    assert_int_equal(m[4].task.first_row, 1);
    assert_int_equal(m[5].task.first_row, 1);
    commit(WRITE);
    assert_events("done:a1 alike done:m1,m4 alike done:m2 alike done:m3,m5");
    assert_all_ended();
}

static void test_many_shapes(void **state) {
    (void)state;
    add_shapes("11 12 13 14 11");
    assert_commits("m1-5");
    assert_events("done:m1,m2,m3,m4,m5");
    assert_all_ended();
}

/* Tasks without a shape go into the general statement. */
static void test_some_without_a_shape(void **state) {
    (void)state;
    add_shapes("11 00 11 00 12 11");
    batch_flush();
    assert_txn(WRITE, "m/11:1,3,6 m2,4 m/12:5");
    assert_int_equal(m[4].task.first_row, 1);
    commit(WRITE);
    assert_events("alike done:m1,m3,m6 done:m2,m4 alike done:m5");
    add_shapes("00 00");
    assert_commits("m1,2");
    assert_all_ended();
}

static void test_many_shapes_and_none(void **state) {
    (void)state;
    add_shapes("11 12 13 00 11");
    assert_commits("m1-5");
    assert_all_ended();
}

/* There need not be anything to decide. */
static void test_nothing_to_decide(void **state) {
    struct op_alike other = trial_alike;

    (void)state;
    other.decide = NULL;
    op_m.alike = &other;
    for (int i = 1; i <= 3; i++)
        m[i].decided = true;
    add_shapes("11 12 11");
    assert_commits("m/11:1,3 m/12:2");
    op_m.alike = &trial_alike;
    assert_all_ended();
}

/* ---- limits ---- */

/* A task without room waits for the next transaction, and so do all later tasks. */
static void test_most_rows(void **state) {
    (void)state;
    config.batch_max = 3;
    m[2].task.rows = 2;
    add_shapes("11 11 11 11 11 11");
    assert_commits("m/11:1,2,2");
    assert_commits("m/11:3,4,5");
    assert_commits("m/11:6");
    m[2].task.rows = 7;
    add_shapes("11 11 11");
    assert_commits("m/11:1");
    assert_commits("m/11:2,2,2,2,2,2,2");
    assert_commits("m/11:3");
    assert_all_ended();
}

static void test_most_bytes(void **state) {
    (void)state;
    config.batch_max_bytes = 100;
    m[1].task.bytes = 60;
    m[2].task.bytes = 40;
    m[3].task.bytes = 1;
    m[4].task.bytes = 5000;
    add_shapes("11 11 11 11");
    assert_commits("m/11:1,2");
    assert_commits("m/11:3");
    assert_commits("m/11:4");
    assert_all_ended();
}

/* A younger task does not take the place of an older task for which there was no room. */
static void test_no_room_for_an_older_one(void **state) {
    (void)state;
    config.batch_max_bytes = 100;
    m[1].task.bytes = 60;
    m[2].task.bytes = 60;
    m[3].task.bytes = m[4].task.bytes = 10;
    add_shapes("11 11 12 11");
    assert_commits("m/11:1");
    assert_commits("m/11:2,4 m/12:3");
    add_shapes("11 00 12 11");
    assert_commits("m/11:1");
    assert_commits("m2 m/12:3 m/11:4");
    assert_all_ended();
}

/* The batch compares shapes only within the size of a statement. Later tasks may have any shape. */
static void test_without_a_shape_behind_the_most(void **state) {
    (void)state;
    config.batch_max = 3;
    add_shapes("11 11 11 00 11 11");
    batch_flush();
    assert_txn(WRITE, "m/11:1,2,3");
    assert_second_txn(WRITE, "m4 m/11:5,6");
    commit(WRITE);
    commit(WRITE);
    assert_events("alike done:m1,m2,m3 done:m4 alike done:m5,m6");
    assert_all_ended();
}

static void test_split_over_two_txns(void **state) {
    (void)state;
    for (int i = 1; i <= 20; i++) {
        m[i].shape = 11;
        add(&m[i]);
    }
    batch_flush();
    assert_txn(WRITE, "m/11:1-10");
    assert_second_txn(WRITE, "m/11:11-20");
    commit(WRITE);
    commit(WRITE);
    assert_all_ended();
}

/* The transaction takes all kinds of tasks within its size, and none of the later tasks. */
static void test_shapes_split_over_two_txns(void **state) {
    (void)state;
    for (int i = 1; i <= 20; i++) {
        m[i].shape = i <= 6 ? 11 : i <= 14 ? 12 : i < 20 ? 13 : 0;
        add(&m[i]);
    }
    batch_flush();
    assert_txn(WRITE, "m/11:1-6 m/12:7-10");
    assert_second_txn(WRITE, "m/12:11-14 m/13:15-19 m20");
    commit(WRITE);
    commit(WRITE);
    assert_all_ended();
}

/* ---- failures ---- */

static void test_suspects_take_the_general_one(void **state) {
    (void)state;
    add_shapes("11 11 12");
    batch_flush();
    assert_txn(WRITE, "m/11:1,2 m/12:3");
    fail_at(WRITE, 0, BAD_DATA);
    batch_flush();
    assert_txn(WRITE, "m1");
    fail_at(WRITE, 0, BAD_DATA);
    assert_commits("m/12:3");
    assert_commits("m2");
    assert_events("fail:m1(" BAD_DATA ") alike done:m3 done:m2");
    assert_all_ended();
}

static void test_lost(void **state) {
    (void)state;
    add_shapes("11 12 11");
    batch_flush();
    lose(WRITE);
    m[4].shape = 12;
    add(&m[4]);
    batch_flush();
    /* The tasks of the first statement came before those of the second. */
    assert_txn(WRITE, "m/11:1,3 m/12:2,4");
    commit(WRITE);
    assert_events("alike done:m1,m3 alike done:m2,m4");
    assert_all_ended();
}

#define TEST(fn) cmocka_unit_test_setup(fn, trial_start)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_one_shape),
        TEST(test_few_shapes),
        TEST(test_many_shapes),
        TEST(test_some_without_a_shape),
        TEST(test_many_shapes_and_none),
        TEST(test_nothing_to_decide),
        TEST(test_most_rows),
        TEST(test_most_bytes),
        TEST(test_no_room_for_an_older_one),
        TEST(test_without_a_shape_behind_the_most),
        TEST(test_split_over_two_txns),
        TEST(test_shapes_split_over_two_txns),
        TEST(test_suspects_take_the_general_one),
        TEST(test_lost),
    };

    return cmocka_run_group_tests_name("batch alike", tests, trial_group_start, trial_group_stop);
}
