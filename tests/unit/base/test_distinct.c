/* Equal byte strings among many: their numbers, and the number of different ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "base/distinct.h"

static void test_numbers(void **state) {
    const struct slice all[] = { SLICE("b"),   SLICE(""), SLICE("a"), SLICE("b"),
                                 SLICE("a\0"), SLICE(""), SLICE("a") };
    const size_t expected[] = { 0, 1, 2, 0, 3, 1, 2 };
    size_t places[LENGTH(all)];

    (void)state;
    assert_int_equal(distinct_number(all, LENGTH(all), places), 4);
    assert_memory_equal(places, expected, sizeof expected);
    assert_int_equal(distinct_number(all, 0, places), 0);
    assert_int_equal(distinct_number(all, 1, places), 1);
}

/* Each text comes twice, the second time in reverse order. */
static void test_many(void **state) {
    enum { TEXTS = 5000, SIZE = 8 };
    static char texts[TEXTS][SIZE];
    static struct slice all[2 * TEXTS];
    static size_t places[2 * TEXTS];

    (void)state;
    for (int i = 0; i < TEXTS; i++) {
        int len = snprintf(texts[i], SIZE, "%d", i);

        all[i] = all[2 * TEXTS - 1 - i] = (struct slice){ texts[i], (size_t)len };
    }
    assert_int_equal(distinct_number(all, LENGTH(all), places), TEXTS);
    for (size_t i = 0; i < TEXTS; i++) {
        assert_int_equal(places[i], i);
        assert_int_equal(places[2 * TEXTS - 1 - i], i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests_name("distinct", tests, NULL, NULL);
}
