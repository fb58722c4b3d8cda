/* Quantiles of recent durations: their error, and the durations that are too old. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/quantiles.h"

#define SECOND INT64_C(1000000)
#define BEGIN (1000 * SECOND)

static void test_none(void **state) {
    struct quantiles q = { 0 };

    (void)state;
    assert_int_equal(quantiles_read(&q, 0, 500), -1);
    assert_int_equal(quantiles_read(&q, BEGIN, 990), -1);
}

static void test_right_to_a_sixteenth(void **state) {
    (void)state;
    for (int64_t us = 1; us < INT64_C(1) << 36; us = us * 9 / 8 + 1) {
        struct quantiles q = { 0 };
        int64_t read;

        quantiles_add(&q, BEGIN, us);
        read = quantiles_read(&q, BEGIN, 500);
        assert_true(read >= us - us / 16 && read <= us + us / 16);
    }
}

static void test_extremes(void **state) {
    struct quantiles q = { 0 };

    (void)state;
    quantiles_add(&q, BEGIN, -5);
    assert_int_equal(quantiles_read(&q, BEGIN, 990), 0);
    quantiles_add(&q, BEGIN, INT64_MAX);
    assert_true(quantiles_read(&q, BEGIN, 990) > INT64_C(1) << 35);
    assert_int_equal(quantiles_read(&q, BEGIN, 500), 0);
}

static void test_parts_of_many(void **state) {
    struct quantiles q = { 0 };

    (void)state;
    for (int i = 0; i < 98; i++)
        quantiles_add(&q, BEGIN, 3);
    quantiles_add(&q, BEGIN, 5);
    quantiles_add(&q, BEGIN, 7);
    assert_int_equal(quantiles_read(&q, BEGIN, 500), 3);
    assert_int_equal(quantiles_read(&q, BEGIN, 990), 5);
    assert_int_equal(quantiles_read(&q, BEGIN, 1000), 7);
}

static void test_old_ones_are_left_out(void **state) {
    struct quantiles q = { 0 };

    (void)state;
    quantiles_add(&q, BEGIN, 1);
    quantiles_add(&q, BEGIN + 59 * SECOND, 2);
    quantiles_add(&q, BEGIN + 61 * SECOND, 3);
    assert_int_equal(quantiles_read(&q, BEGIN + 61 * SECOND, 1), 1);
    assert_int_equal(quantiles_read(&q, BEGIN + 120 * SECOND, 1), 1);
    assert_int_equal(quantiles_read(&q, BEGIN + 122 * SECOND, 1), 3);
    assert_int_equal(quantiles_read(&q, BEGIN + 182 * SECOND, 1), -1);
    quantiles_add(&q, BEGIN + 500 * SECOND, 4);
    assert_int_equal(quantiles_read(&q, BEGIN + 500 * SECOND, 1), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_right_to_a_sixteenth),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_parts_of_many),
        cmocka_unit_test(test_old_ones_are_left_out),
    };

    return cmocka_run_group_tests_name("quantiles", tests, NULL, NULL);
}
