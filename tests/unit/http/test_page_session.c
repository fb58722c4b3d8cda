/* Sessions of the page: their ends by time, password and number. wraps: clock_mono */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "config/config.h"
#include "http/page_session.h"

#define MINUTE_US (60 * US_PER_S)

int64_t __wrap_clock_mono(void);

static int64_t now_us = US_PER_S;

int64_t __wrap_clock_mono(void) {
    return now_us;
}

static const unsigned char password[PASSWORD_HASH_BYTES] = { 1 };

static int session_set_up(void **state) {
    (void)state;
    config_defaults();
    users_init();
    users_reset_default();
    return 0;
}

/* The default user has no password, so it accepts any. */
static void session_begin(unsigned char key[PAGE_KEY_BYTES]) {
    char token[PAGE_TOKEN_SIZE];

    page_session_begin(default_user, password, token);
    assert_true(page_session_key(slice_str(token), key));
}

static void test_idle(void **state) {
    unsigned char key[PAGE_KEY_BYTES];

    (void)state;
    session_begin(key);
    for (int i = 0; i < 3; i++) {
        now_us += PAGE_IDLE_US;
        assert_non_null(page_session_use(key));
    }
    now_us += PAGE_IDLE_US + 1;
    assert_null(page_session_use(key));
    assert_int_equal(page_session_count(), 0);
}

static void test_life(void **state) {
    unsigned char key[PAGE_KEY_BYTES];
    int64_t begin = now_us;

    (void)state;
    session_begin(key);
    while (now_us - begin <= PAGE_LIFE_US - MINUTE_US) {
        now_us += MINUTE_US;
        assert_non_null(page_session_use(key));
    }
    now_us = begin + PAGE_LIFE_US + 1;
    assert_null(page_session_use(key));
}

/* A user with too many sessions loses the one that is not in use for the longest time. */
static void test_many(void **state) {
    unsigned char keys[PAGE_SESSIONS_OF_USER_MAX + 1][PAGE_KEY_BYTES];

    (void)state;
    for (size_t i = 0; i < PAGE_SESSIONS_OF_USER_MAX; i++) {
        now_us++;
        session_begin(keys[i]);
    }
    now_us++;
    assert_non_null(page_session_use(keys[0]));
    session_begin(keys[PAGE_SESSIONS_OF_USER_MAX]);
    assert_int_equal(page_session_count(), PAGE_SESSIONS_OF_USER_MAX);
    assert_non_null(page_session_use(keys[0]));
    assert_null(page_session_use(keys[1]));
    assert_non_null(page_session_use(keys[PAGE_SESSIONS_OF_USER_MAX]));
}

/* A new session takes the place of sessions that have ended. */
static void test_ended(void **state) {
    unsigned char key[PAGE_KEY_BYTES];

    (void)state;
    now_us += PAGE_IDLE_US + 1;
    session_begin(key);
    assert_int_equal(page_session_count(), 1);
    page_session_end(page_session_use(key));
    assert_null(page_session_use(key));
}

static void test_tokens(void **state) {
    unsigned char key[PAGE_KEY_BYTES];

    (void)state;
    assert_false(page_session_key(SLICE(""), key));
    assert_false(page_session_key(SLICE("short"), key));
    assert_false(page_session_key(SLICE("not!base64!not!base64!not!base64!not!base64"), key));
    assert_true(page_session_key(SLICE("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), key));
    assert_null(page_session_use(key));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle),  cmocka_unit_test(test_life),   cmocka_unit_test(test_many),
        cmocka_unit_test(test_ended), cmocka_unit_test(test_tokens),
    };

    return cmocka_run_group_tests_name("page session", tests, session_set_up, NULL);
}
