/* The places of rows: a table that forgets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/hash.h"
#include "jobs/row_places.h"

#define MANY 100000
#define IN_FLIGHT 2000

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

/* IDs as a server makes them: a millisecond, a node, and a number in the millisecond. */
static int64_t id_of(int64_t job) {
    return (INT64_C(1764000000000) + job / 90) << 22 | 2 << 12 | job % 90;
}

/* The jobs in flight of a busy server keep their places, with few exceptions. */
static void test_jobs_in_flight(void **state) {
    int known = 0;

    (void)state;
    for (int64_t job = 0; job < MANY; job++) {
        row_places_note(id_of(job), (uint64_t)job + 1);
        if (job >= IN_FLIGHT)
            known += row_places_take(id_of(job - IN_FLIGHT)) == (uint64_t)(job - IN_FLIGHT) + 1;
    }
    assert_in_range(known, MANY - IN_FLIGHT - 10, MANY - IN_FLIGHT);
}

/* More jobs than the table has entries: a job has its own place or none. */
static void test_many(void **state) {
    int known = 0;

    (void)state;
    for (int64_t job = 0; job < MANY; job++)
        row_places_note(id_of(job), (uint64_t)job + 1);
    for (int64_t job = 0; job < MANY; job++) {
        uint64_t place = row_places_take(id_of(job));

        assert_true(place == ROW_PLACE_NONE || place == (uint64_t)job + 1);
        known += place != ROW_PLACE_NONE;
    }
    assert_in_range(known, MANY / 4, 1 << 16);
}

int main(void) {
    static const uint64_t key[2] = { 1, 2 };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take_once),
        cmocka_unit_test(test_forget),
        cmocka_unit_test(test_jobs_in_flight),
        cmocka_unit_test(test_many),
    };

    hash_set_key(key);
    return cmocka_run_group_tests_name("places of rows", tests, NULL, NULL);
}
