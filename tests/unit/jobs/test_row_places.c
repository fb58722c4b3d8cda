/* The places of rows: a table that forgets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "jobs/row_places.h"

#define MANY 100000

static void test_take_once(void **state) {
    (void)state;
    row_places_note(1, 65537);
    row_places_note(-1, 65538);
    assert_int_equal(row_places_take(1), 65537);
    assert_int_equal(row_places_take(1), ROW_PLACE_NONE);
    assert_int_equal(row_places_take(-1), 65538);
}

static void test_forget(void **state) {
    (void)state;
    row_places_note(1, 65537);
    row_places_note(2, 65538);
    row_places_forget(1);
    assert_int_equal(row_places_take(1), ROW_PLACE_NONE);
    assert_int_equal(row_places_take(2), 65538);
    assert_int_equal(row_places_take(3), ROW_PLACE_NONE);
}

/* More jobs than the table has entries: a job has its own place or none. */
static void test_many(void **state) {
    int known = 0;

    (void)state;
    for (int64_t id = 1; id <= MANY; id++)
        row_places_note(id, (uint64_t)id);
    for (int64_t id = 1; id <= MANY; id++) {
        uint64_t place = row_places_take(id);

        assert_true(place == ROW_PLACE_NONE || place == (uint64_t)id);
        known += place != ROW_PLACE_NONE;
    }
    assert_in_range(known, MANY / 4, 1 << 16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take_once),
        cmocka_unit_test(test_forget),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests_name("places of rows", tests, NULL, NULL);
}
