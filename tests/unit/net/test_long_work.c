/* Work in steps: several works take turns, wait, and end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/stats.h"
#include "base/util.h"
#include "net/long_work.h"

struct counting {
    struct long_work work;
    int left;
    int steps;
    bool slow;
    bool waits_next;
};

static bool count_down(struct long_work *w) {
    struct counting *c = CONTAINER_OF(w, struct counting, work);
    int64_t end = clock_mono_now() + US_PER_MS;

    while (c->slow && clock_mono_now() < end)
        continue;
    c->steps++;
    if (c->waits_next) {
        long_work_wait(w);
        return true;
    }
    return --c->left > 0;
}

static void finish_all(void) {
    for (int turns = 0; long_works_pending(); turns++) {
        assert_true(turns < 10000);
        long_works_turn();
    }
}

static void test_small_work_needs_no_turn(void **state) {
    struct counting c = { .left = 1 };

    (void)state;
    long_work_begin(&c.work, NULL, count_down);
    assert_int_equal(c.steps, 1);
    assert_false(long_works_pending());
}

static void test_long_work_ends_in_later_turns(void **state) {
    struct counting c = { .left = 50 };
    uint64_t before = stats.later_steps;

    (void)state;
    long_work_begin(&c.work, NULL, count_down);
    assert_int_equal(c.steps, 1);
    assert_true(long_works_pending());
    finish_all();
    assert_int_equal(c.steps, 50);
    assert_int_equal(stats.later_steps - before, 49);
}

/* However many steps are left, a turn ends. */
static void test_a_turn_has_a_share(void **state) {
    struct counting c = { .left = 100, .slow = true };

    (void)state;
    long_work_begin(&c.work, NULL, count_down);
    long_works_turn();
    assert_in_range(c.steps, 2, 20);
    assert_true(long_works_pending());
    finish_all();
    assert_int_equal(c.steps, 100);
}

static void test_works_take_turns(void **state) {
    struct counting large = { .left = 100, .slow = true }, small = { .left = 5, .slow = true };

    (void)state;
    long_work_begin(&large.work, NULL, count_down);
    long_work_begin(&small.work, NULL, count_down);
    while (small.left > 0)
        long_works_turn();
    assert_in_range(large.steps, 4, 30);
    finish_all();
}

/* A user with many works delays a step of another user by one step. */
static void test_users_take_turns(void **state) {
    struct counting many[50], one = { .left = 5, .slow = true };
    struct fair_user busy = { 0 }, other = { 0 };
    int steps = 0;

    (void)state;
    for (int i = 0; i < 50; i++) {
        many[i] = (struct counting){ .left = 3, .slow = true };
        long_work_begin(&many[i].work, &busy, count_down);
    }
    long_work_begin(&one.work, &other, count_down);
    while (one.left > 0)
        long_works_turn();
    for (int i = 0; i < 50; i++)
        steps += many[i].steps;
    assert_in_range(steps, 50, 50 + 20);
    finish_all();
    fair_user_free(&busy);
    fair_user_free(&other);
}

static void test_work_that_waits(void **state) {
    struct counting c = { .left = 3, .waits_next = true };

    (void)state;
    long_work_begin(&c.work, NULL, count_down);
    assert_false(long_works_pending());
    long_works_turn();
    assert_int_equal(c.steps, 1);
    c.waits_next = false;
    long_work_go_on(&c.work);
    long_work_go_on(&c.work);
    assert_true(long_works_pending());
    finish_all();
    assert_int_equal(c.steps, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_work_needs_no_turn), cmocka_unit_test(test_long_work_ends_in_later_turns),
        cmocka_unit_test(test_a_turn_has_a_share),       cmocka_unit_test(test_works_take_turns),
        cmocka_unit_test(test_users_take_turns),         cmocka_unit_test(test_work_that_waits),
    };

    return cmocka_run_group_tests_name("long_work", tests, NULL, NULL);
}
