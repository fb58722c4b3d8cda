/* Timers of the monotonic clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/timer.h"
#include "base/util.h"

struct alarm {
    struct timer timer;
    int calls;
    int64_t again; /* the next time; 0: the timer ends */
};

static struct alarm *order[4];
static size_t called;

static void ring(struct timer *t) {
    struct alarm *a = CONTAINER_OF(t, struct alarm, timer);

    assert_false(timer_is_set(t));
    a->calls++;
    order[called++ % LENGTH(order)] = a;
    if (a->again != 0)
        timer_set(t, a->again, ring);
}

static void runs_due_timers_in_the_order_of_their_times(void **state) {
    struct alarm a = { .calls = 0 }, b = { .calls = 0 }, c = { .calls = 0 };

    (void)state;
    called = 0;
    assert_true(timers_next() == INT64_MAX);
    timer_set(&a.timer, 30, ring);
    timer_set(&b.timer, 10, ring);
    timer_set(&c.timer, 31, ring);
    assert_int_equal(timers_next(), 10);
    timers_run(9);
    assert_int_equal(called, 0);
    timers_run(30);
    assert_int_equal(called, 2);
    assert_ptr_equal(order[0], &b);
    assert_ptr_equal(order[1], &a);
    assert_int_equal(timers_next(), 31);
    timer_stop(&c.timer);
    assert_true(timers_next() == INT64_MAX);
}

static void moves_and_stops(void **state) {
    struct alarm a = { .calls = 0 };

    (void)state;
    timer_stop(&a.timer);
    timer_set(&a.timer, 10, ring);
    timer_set(&a.timer, 20, ring);
    timers_run(19);
    assert_int_equal(a.calls, 0);
    assert_true(timer_is_set(&a.timer));
    timer_stop(&a.timer);
    timers_run(20);
    assert_int_equal(a.calls, 0);
}

static void ring_and_free(struct timer *t) {
    called++;
    free(CONTAINER_OF(t, struct alarm, timer));
}

static void a_function_may_free_its_timer_and_set_it_again(void **state) {
    struct alarm *freed = calloc(1, sizeof *freed);
    struct alarm repeated = { .again = 50 };

    (void)state;
    called = 0;
    assert_non_null(freed);
    timer_set(&freed->timer, 1, ring_and_free);
    timer_set(&repeated.timer, 2, ring);
    timers_run(10);
    assert_int_equal(called, 2);
    assert_int_equal(timers_next(), 50);
    repeated.again = 0;
    timers_run(50);
    assert_int_equal(repeated.calls, 2);
    assert_true(timers_next() == INT64_MAX);
}

/* A function that sets its timer to the past does not stop the server. */
static void a_turn_has_an_end(void **state) {
    struct alarm a = { .again = 1 };

    (void)state;
    timer_set(&a.timer, 1, ring);
    timers_run(10);
    assert_int_equal(a.calls, TIMERS_A_TURN);
    assert_true(timer_is_set(&a.timer));
    timer_stop(&a.timer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_due_timers_in_the_order_of_their_times),
        cmocka_unit_test(moves_and_stops),
        cmocka_unit_test(a_function_may_free_its_timer_and_set_it_again),
        cmocka_unit_test(a_turn_has_an_end),
    };

    return cmocka_run_group_tests_name("timer", tests, NULL, NULL);
}
