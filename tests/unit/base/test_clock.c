/* The estimate of the database's clock: it follows the answers, and never steps back a little. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/clock.h"

static int64_t db_now(void) {
    clock_turn();
    return clock_db();
}

static void sync_to(int64_t db_us) {
    clock_turn();
    (void)clock_sync_db(db_us, clock_mono(), clock_mono());
}

static void stands_still_when_set_back_a_little(void **state) {
    int64_t before;

    (void)state;
    sync_to(1000 * US_PER_S);
    before = db_now();
    sync_to(before - 200 * US_PER_MS);
    assert_int_equal(db_now(), before);
}

static void follows_when_set_back_far(void **state) {
    (void)state;
    sync_to(5000 * US_PER_S);
    assert_true(db_now() >= 5000 * US_PER_S);
    sync_to(2000 * US_PER_S);
    assert_true(db_now() < 2001 * US_PER_S);
}

static void follows_forward_at_once(void **state) {
    (void)state;
    sync_to(9000 * US_PER_S);
    assert_true(db_now() >= 9000 * US_PER_S);
}

/* Another server's estimate is ahead of ours by a usual error. */
static void follows_times_of_other_servers(void **state) {
    int64_t before;

    (void)state;
    sync_to(20000 * US_PER_S);
    before = db_now();
    clock_db_reached(before - 1);
    assert_true(db_now() >= before);
    clock_db_reached(before + 200 * US_PER_MS);
    assert_int_equal(db_now(), before + 200 * US_PER_MS);
    sync_to(before + 400 * US_PER_MS);
    assert_true(db_now() >= before + 400 * US_PER_MS);
}

/* The rest is in proportion to the duration, and ends soon after a standstill. */
static void rests_have_a_limit(void **state) {
    int64_t now;

    (void)state;
    clock_turn();
    now = clock_mono();
    assert_int_equal(clock_rest_end(now - 3, 20, US_PER_S), now + 60);
    assert_int_equal(clock_rest_end(now - 10 * US_PER_S, 20, US_PER_S), now + US_PER_S);
}

/* The clock of a server was not set back with the others, or is wrong. */
static void times_far_ahead_are_ignored(void **state) {
    int64_t before;

    (void)state;
    sync_to(30000 * US_PER_S);
    before = db_now();
    clock_db_reached(before + 900 * US_PER_MS);
    assert_true(db_now() < before + 900 * US_PER_MS);
}

/* The first answers of a session are slow. The estimate stays where no answer contradicts it. */
static void moves_as_far_as_answers_prove(void **state) {
    int64_t base = 40000 * US_PER_S, now = clock_mono_now();

    (void)state;
    sync_to(0);
    (void)clock_sync_db(base, now - 90 * US_PER_MS, now + 83 * US_PER_MS);
    assert_int_equal(clock_sync_db(base, now - 20 * US_PER_MS, now + 10 * US_PER_MS), 73 * US_PER_MS);
    assert_int_equal(clock_sync_db(base, now - 80 * US_PER_MS, now + 40 * US_PER_MS), 0);
    assert_int_equal(clock_sync_db(base, now, now + US_PER_MS), 9 * US_PER_MS);
    assert_int_equal(clock_sync_db(base - 5 * US_PER_MS, now, now + 40 * US_PER_MS), -4 * US_PER_MS);
}

/* An answer of a slow link says that the clock was set back by seconds. No lease may end too soon. */
static void is_late_after_a_step_back(void **state) {
    int64_t base = 50000 * US_PER_S, now = clock_mono_now();

    (void)state;
    sync_to(base);
    (void)clock_sync_db(base, now, now);
    assert_int_equal(clock_sync_db(base - 60 * US_PER_S, now, now + 900 * US_PER_MS), -60900 * US_PER_MS);
    assert_int_equal(clock_sync_db(base - 60 * US_PER_S, now, now), 900 * US_PER_MS);
}

static void asks_until_an_answer_is_quick(void **state) {
    int64_t base = 60000 * US_PER_S, now = clock_mono_now();

    (void)state;
    assert_false(clock_sync_first(base, now, now + 4 * US_PER_MS));
    assert_true(clock_sync_first(base, now, now + 3 * US_PER_MS));
    for (int i = 0; i < 7; i++)
        assert_false(clock_sync_first(base + 60 * US_PER_S, now, now + 50 * US_PER_MS));
    assert_true(clock_sync_first(base + 60 * US_PER_S, now, now + 50 * US_PER_MS));
}

/* After a lost connection the estimate is known, so a slow link does not delay the server. */
static void asks_once_if_the_answer_agrees(void **state) {
    int64_t base = 70000 * US_PER_S, now = clock_mono_now();

    (void)state;
    sync_to(0);
    (void)clock_sync_db(base, now, now);
    assert_true(clock_sync_first(base, now, now + 50 * US_PER_MS));
    assert_true(clock_sync_first(base + 500 * US_PER_MS, now, now + 50 * US_PER_MS));
    assert_false(clock_sync_first(base - 5 * US_PER_S, now, now + 50 * US_PER_MS));
    assert_false(clock_sync_first(base - 5 * US_PER_S, now, now + 50 * US_PER_MS));
    assert_true(clock_sync_first(base - 5 * US_PER_S, now, now + US_PER_MS));
}

static void stands_for_a_turn(void **state) {
    int64_t first;

    (void)state;
    clock_turn();
    first = clock_mono();
    while (clock_mono_now() == first)
        continue;
    assert_int_equal(clock_mono(), first);
    clock_turn();
    assert_true(clock_mono() > first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stands_still_when_set_back_a_little),
        cmocka_unit_test(follows_when_set_back_far),
        cmocka_unit_test(follows_forward_at_once),
        cmocka_unit_test(follows_times_of_other_servers),
        cmocka_unit_test(times_far_ahead_are_ignored),
        cmocka_unit_test(moves_as_far_as_answers_prove),
        cmocka_unit_test(is_late_after_a_step_back),
        cmocka_unit_test(asks_until_an_answer_is_quick),
        cmocka_unit_test(asks_once_if_the_answer_agrees),
        cmocka_unit_test(stands_for_a_turn),
        cmocka_unit_test(rests_have_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
