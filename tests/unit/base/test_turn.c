/* The longest turn: its time is that of the processor, and it names the command that took longest in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/turn.h"

#define LONG_US (20 * US_PER_MS)

static int64_t cpu_us(void) {
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * US_PER_S + now.tv_nsec / 1000;
}

static void work(int64_t us) {
    int64_t end = cpu_us() + us;

    while (cpu_us() < end)
        continue;
}

/* As in the loop, where the clock is read in every turn. */
static void end_turn(void) {
    (void)clock_mono_now();
    turn_end();
}

/* The first turns only set up the measurement. */
static int start(void **state) {
    (void)state;
    usleep(2000);
    end_turn();
    usleep(2000);
    end_turn();
    turn_reset();
    return 0;
}

static void test_the_longest(void **state) {
    (void)state;
    turn_note_command("first", 10);
    work(LONG_US);
    turn_note_command("longest", 300);
    turn_note_command("last", 20);
    end_turn();
    assert_true(turn_longest()->cpu_us >= LONG_US);
    assert_string_equal(turn_longest()->command, "longest");
    assert_int_equal(turn_longest()->command_us, 300);
}

/* A shorter turn does not replace the record, with any times of its commands. */
static void test_a_shorter_one(void **state) {
    int64_t before;

    (void)state;
    turn_note_command("of the longest", 1);
    work(5 * LONG_US);
    end_turn();
    before = turn_longest()->cpu_us;
    turn_note_command("of a shorter one", 1000000);
    work(2 * US_PER_MS);
    end_turn();
    assert_int_equal(turn_longest()->cpu_us, before);
    assert_string_equal(turn_longest()->command, "of the longest");
}

/* A command belongs to its turn only. */
static void test_without_a_command(void **state) {
    (void)state;
    turn_note_command("of the turn before", 1000000);
    work(2 * US_PER_MS);
    end_turn();
    work(3 * LONG_US);
    end_turn();
    assert_string_equal(turn_longest()->command, "");
    assert_int_equal(turn_longest()->command_us, 0);
}

/* Waiting takes no time of the processor. */
static void test_waiting_does_not_count(void **state) {
    int64_t cpu = cpu_us();

    (void)state;
    usleep(200000);
    end_turn();
    assert_true(turn_longest()->cpu_us <= cpu_us() - cpu + 2 * US_PER_MS);
    turn_reset();
    assert_int_equal(turn_longest()->cpu_us, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_the_longest, start),
        cmocka_unit_test_setup(test_a_shorter_one, start),
        cmocka_unit_test_setup(test_without_a_command, start),
        cmocka_unit_test_setup(test_waiting_does_not_count, start),
    };

    return cmocka_run_group_tests_name("turn", tests, NULL, NULL);
}
