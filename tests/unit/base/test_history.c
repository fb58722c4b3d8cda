/* Figures of the past in rings: round trips, gaps, counters that begin again, large values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/history.h"
#include "base/util.h"

#define S INT64_C(1000000)

static const struct history_shape shapes[HISTORY_RANGES] = {
    [HISTORY_MINUTES] = { S, 5 },
    [HISTORY_HOURS] = { 60 * S, 4 },
    [HISTORY_DAYS] = { 600 * S, 3 },
};

static const enum history_range ranges[] = { HISTORY_MINUTES, HISTORY_HOURS, HISTORY_DAYS };

/* A gauge, and a counter. */
static struct history_figures figures(uint64_t len, uint64_t added) {
    return (struct history_figures){ { [HISTORY_LEN] = len, [HISTORY_ADDED] = added } };
}

static void assert_series(const struct history *h, enum history_range range, enum history_series series,
                          const uint32_t *want, size_t count) {
    assert_int_equal(history_count(h, range), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(history_at(h, range, series, i), want[i]);
}

static void test_nothing_before_the_first_step_ends(void **state) {
    struct history *h = history_new(shapes, 7 * S + 1, figures(3, 100));

    (void)state;
    history_sample(h, 8 * S - 1, figures(4, 101));
    for (size_t i = 0; i < LENGTH(ranges); i++)
        assert_int_equal(history_count(h, ranges[i]), 0);
    history_free(h);
}

static void test_gauges_and_increases(void **state) {
    struct history *h = history_new(shapes, 7 * S + S / 2, figures(3, 100));

    (void)state;
    history_sample(h, 8 * S, figures(5, 102));
    history_sample(h, 8 * S + S / 2, figures(9, 103));
    history_sample(h, 9 * S + 1, figures(6, 109));
    assert_series(h, HISTORY_MINUTES, HISTORY_LEN, (uint32_t[]){ 5, 6 }, 2);
    assert_series(h, HISTORY_MINUTES, HISTORY_ADDED, (uint32_t[]){ 2, 7 }, 2);
    assert_series(h, HISTORY_MINUTES, HISTORY_ACTIVE, (uint32_t[]){ 0, 0 }, 2);
    assert_int_equal(history_end_us(h, HISTORY_MINUTES), 9 * S);
    history_free(h);
}

/* Each ring rolls over several times, and keeps its newest slots in order. The counter grows by 1 in the first second,
 * by 2 in the next and so on. */
static void test_each_ring_rolls_over(void **state) {
    struct history *h = history_new(shapes, 0, figures(0, 0));
    uint64_t added = 0;
    uint64_t end = 4200;

    (void)state;
    for (uint64_t second = 1; second <= end; second++)
        history_sample(h, (int64_t)second * S, figures(second, added += second));
    for (size_t i = 0; i < LENGTH(ranges); i++) {
        uint64_t step = (uint64_t)(shapes[ranges[i]].step_us / S), slots = shapes[ranges[i]].slots;

        assert_int_equal(history_count(h, ranges[i]), slots);
        assert_int_equal(history_end_us(h, ranges[i]), (int64_t)(end / step * step) * S);
        for (uint64_t slot = 0; slot < slots; slot++) {
            uint64_t last = (end / step - slots + slot + 1) * step, first = last - step + 1;

            assert_int_equal(history_at(h, ranges[i], HISTORY_LEN, slot), last);
            assert_int_equal(history_at(h, ranges[i], HISTORY_ADDED, slot), (first + last) * step / 2);
        }
    }
    history_free(h);
}

/* The process was stopped: no sample was taken for some steps. */
static void test_a_gap_is_unknown(void **state) {
    struct history *h = history_new(shapes, 0, figures(0, 0));

    (void)state;
    history_sample(h, 1 * S, figures(1, 10));
    history_sample(h, 4 * S, figures(2, 40));
    history_sample(h, 5 * S, figures(3, 41));
    assert_series(h, HISTORY_MINUTES, HISTORY_LEN, (uint32_t[]){ 1, HISTORY_UNKNOWN, HISTORY_UNKNOWN, 2, 3 },
                  5);
    assert_series(h, HISTORY_MINUTES, HISTORY_ADDED,
                  (uint32_t[]){ 10, HISTORY_UNKNOWN, HISTORY_UNKNOWN, 30, 1 }, 5);
    history_free(h);
}

/* The gap is longer than all rings. */
static void test_a_long_gap_takes_one_round(void **state) {
    struct history *h = history_new(shapes, 0, figures(0, 0));

    (void)state;
    history_sample(h, INT64_C(1000000000) * S, figures(1, 10));
    for (size_t i = 0; i < LENGTH(ranges); i++) {
        size_t last = shapes[ranges[i]].slots - 1;

        assert_int_equal(history_count(h, ranges[i]), last + 1);
        assert_int_equal(history_at(h, ranges[i], HISTORY_ADDED, last), 10);
        for (size_t slot = 0; slot < last; slot++)
            assert_int_equal(history_at(h, ranges[i], HISTORY_ADDED, slot), HISTORY_UNKNOWN);
    }
    history_free(h);
}

/* A time before the last one changes nothing, and the next steps continue. */
static void test_a_clock_that_steps_back(void **state) {
    struct history *h = history_new(shapes, 10 * S, figures(0, 0));

    (void)state;
    history_sample(h, 11 * S, figures(1, 1));
    history_sample(h, 2 * S, figures(7, 7));
    assert_series(h, HISTORY_MINUTES, HISTORY_ADDED, (uint32_t[]){ 1 }, 1);
    history_sample(h, 12 * S, figures(8, 9));
    assert_series(h, HISTORY_MINUTES, HISTORY_ADDED, (uint32_t[]){ 1, 8 }, 2);
    history_free(h);
}

static void test_a_counter_begins_again(void **state) {
    struct history *h = history_new(shapes, 0, figures(0, 1000));

    (void)state;
    history_sample(h, 1 * S, figures(0, 4));
    history_sample(h, 2 * S, figures(0, 5));
    assert_series(h, HISTORY_MINUTES, HISTORY_ADDED, (uint32_t[]){ 4, 1 }, 2);
    history_free(h);
}

static void test_large_values(void **state) {
    struct history *h = history_new(shapes, 0, figures(0, 0));

    (void)state;
    history_sample(h, 1 * S, figures(UINT64_MAX, HISTORY_UNKNOWN));
    history_sample(h, 2 * S, figures(HISTORY_UNKNOWN - 2, HISTORY_UNKNOWN));
    assert_series(h, HISTORY_MINUTES, HISTORY_LEN, (uint32_t[]){ HISTORY_UNKNOWN - 1, HISTORY_UNKNOWN - 2 },
                  2);
    assert_series(h, HISTORY_MINUTES, HISTORY_ADDED, (uint32_t[]){ HISTORY_UNKNOWN - 1, 0 }, 2);
    history_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_before_the_first_step_ends),
        cmocka_unit_test(test_gauges_and_increases),
        cmocka_unit_test(test_each_ring_rolls_over),
        cmocka_unit_test(test_a_gap_is_unknown),
        cmocka_unit_test(test_a_long_gap_takes_one_round),
        cmocka_unit_test(test_a_clock_that_steps_back),
        cmocka_unit_test(test_a_counter_begins_again),
        cmocka_unit_test(test_large_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
