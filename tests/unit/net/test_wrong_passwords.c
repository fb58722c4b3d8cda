/* The delay of replies to wrong passwords. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/hash.h"
#include "net/wrong_passwords.h"

#define MOST (5 * US_PER_S)

static int64_t first;

/* With this key no two names of these tests share a place. A random key lets two share in 1 of 200 runs. */
static int forget_all(void **state) {
    static const uint64_t key[2] = { 1, 2 };

    (void)state;
    hash_set_key(key);
    clock_turn();
    wrong_passwords_reset();
    first = wrong_password_delay("10.0.0.1:1", SLICE("first"));
    assert_in_range(first, 1, US_PER_S);
    return 0;
}

static void test_of_an_address(void **state) {
    (void)state;
    assert_in_range(wrong_password_delay("10.0.0.1:2", SLICE("second")), first + 1, 2 * first);
    assert_in_range(wrong_password_delay("10.0.0.1:3", SLICE("third")), 2 * first + 1, 3 * first);
    assert_int_equal(wrong_password_delay("[fe80::1]:3", SLICE("fourth")), first);
    assert_in_range(wrong_password_delay("[fe80::1]:4", SLICE("fifth")), first + 1, 2 * first);
}

static void test_of_a_user(void **state) {
    (void)state;
    assert_in_range(wrong_password_delay("10.0.0.2:1", SLICE("first")), first + 1, 2 * first);
    assert_in_range(wrong_password_delay("10.0.0.3:1", SLICE("first")), 2 * first + 1, 3 * first);
    assert_int_equal(wrong_password_delay("10.0.0.4:1", SLICE("alone")), first);
}

/* A great number of addresses and users takes no memory, and no delay exceeds the longest. */
static void test_of_many(void **state) {
    char addr[64], user[32];

    (void)state;
    for (int i = 0; i < 200000; i++) {
        snprintf(addr, sizeof addr, "10.%d.%d.%d:1", i / 65536, i / 256 % 256, i % 256);
        snprintf(user, sizeof user, "user%d", i);
        assert_in_range(wrong_password_delay(addr, slice_str(user)), first, MOST);
    }
    assert_int_equal(wrong_password_delay("10.0.0.1:1", SLICE("first")), MOST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_of_an_address, forget_all),
        cmocka_unit_test_setup(test_of_a_user, forget_all),
        cmocka_unit_test_setup(test_of_many, forget_all),
    };

    return cmocka_run_group_tests_name("wrong passwords", tests, NULL, NULL);
}
