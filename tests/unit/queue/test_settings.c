/* Settings of queues: names, ranges, and the values in force. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "queue/settings.h"

static struct queue *q;

static int start(void **state) {
    (void)state;
    clock_turn();
    queue_init();
    q = queue_get(SLICE("q"));
    return 0;
}

static int stop(void **state) {
    (void)state;
    queue_drop(q);
    return 0;
}

/* Each has a name that finds it, in any case, and nothing else does. */
static void test_names(void **state) {
    enum setting which;

    (void)state;
    for (int i = 0; i < SETTING_COUNT; i++) {
        assert_true(setting_find(slice_str(setting_name((enum setting)i)), &which));
        assert_int_equal(which, i);
    }
    assert_true(setting_find(SLICE("MaxLen"), &which));
    assert_int_equal(which, SETTING_MAXLEN);
    assert_false(setting_find(SLICE("maxle"), &which));
    assert_false(setting_find(SLICE("maxlen\0"), &which));
    assert_false(setting_find(SLICE(""), &which));
}

static void assert_parses(enum setting which, const char *text, int64_t want) {
    int64_t value, period_s;

    assert_null(setting_parse(which, slice_str(text), &value, &period_s));
    assert_int_equal(value, want);
}

static void assert_refused(enum setting which, const char *text) {
    int64_t value, period_s;
    const char *error = setting_parse(which, slice_str(text), &value, &period_s);

    assert_non_null(error);
    assert_non_null(strstr(error, setting_name(which)));
}

static void test_ranges(void **state) {
    static const char *const never[] = { "", "x", "1x", " 1", "-1", "1.5", "9223372036854775808" };

    (void)state;
    for (size_t i = 0; i < LENGTH(never); i++)
        for (int k = 0; k < SETTING_COUNT; k++)
            assert_refused((enum setting)k, never[i]);
    assert_parses(SETTING_RETRY, "0", 0);
    assert_parses(SETTING_RETRY, "2147483647", 2147483647);
    assert_refused(SETTING_RETRY, "2147483648");
    assert_parses(SETTING_TTL, "1", 1);
    assert_refused(SETTING_TTL, "0");
    assert_parses(SETTING_MAXLEN, "0", 0);
    assert_parses(SETTING_MAXLEN, "9223372036854775807", INT64_MAX);
    assert_parses(SETTING_RATE, "1000000/d", 1000000);
    assert_refused(SETTING_RATE, "1000001/d");
    assert_refused(SETTING_GROUP_RATE, "0/m");
    assert_refused(SETTING_RATE_BURST, "1/m");
}

/* A rate is shown with its period. */
static void test_rates(void **state) {
    char text[SETTING_TEXT_LEN];

    (void)state;
    setting_show(NULL, SETTING_RATE, text);
    assert_string_equal(text, "0");
    settings_put(q, SETTING_RATE, 30);
    setting_show(q, SETTING_RATE, text);
    assert_string_equal(text, "30");
    settings_put(q, SETTING_RATE_PERIOD, 600);
    setting_show(q, SETTING_RATE, text);
    assert_string_equal(text, "30/10m");
    setting_show(q, SETTING_RATE_PERIOD, text);
    assert_string_equal(text, "600");
    setting_show(q, SETTING_GROUP_RATE, text);
    assert_string_equal(text, "0");
}

static void test_defaults(void **state) {
    (void)state;
    for (int i = 0; i < SETTING_COUNT; i++)
        assert_int_equal(setting_of(NULL, (enum setting)i), -1);
    assert_int_equal(setting_in_force(NULL, SETTING_TTL), 86400);
    assert_int_equal(setting_in_force(q, SETTING_RETRY), 300);
    assert_int_equal(setting_in_force(q, SETTING_MAXLEN), 0);
    assert_int_equal(setting_default_retry(1), 1);
    assert_int_equal(setting_default_retry(100), 10);
    assert_int_equal(setting_default_retry(INT32_MAX), 300);
}

/* A job without a retry time gets it from the TTL, also from a set one. */
static void test_in_force(void **state) {
    (void)state;
    settings_put(q, SETTING_TTL, 100);
    assert_int_equal(setting_in_force(q, SETTING_TTL), 100);
    assert_int_equal(setting_of(q, SETTING_RETRY), -1);
    assert_int_equal(setting_in_force(q, SETTING_RETRY), 10);
    settings_put(q, SETTING_RETRY, 0);
    assert_int_equal(setting_in_force(q, SETTING_RETRY), 0);
    assert_true(q->shown);
    settings_clear(q);
    assert_null(q->settings);
    assert_int_equal(setting_in_force(q, SETTING_TTL), 86400);
    settings_clear(q);
}

/* DEBUG FLUSHALL removes the settings together with all jobs. */
static void test_cleared_with_the_jobs(void **state) {
    (void)state;
    settings_put(q, SETTING_MAXLEN, 3);
    queue_clear();
    assert_int_equal(setting_of(q, SETTING_MAXLEN), -1);
    assert_false(q->shown);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_names), TEST(test_ranges),   TEST(test_defaults),
        TEST(test_rates), TEST(test_in_force), TEST(test_cleared_with_the_jobs),
    };

    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
