/* Counters, their INFO text, and rates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/stats.h"

#define TENTH INT64_C(100000)

static int start_clean(void **state) {
    (void)state;
    stats_reset();
    return 0;
}

static void test_info(void **state) {
    struct buf out = { 0 };
    size_t lines = 0, expected = 0;

    (void)state;
    stats.jobs_added = 7;
    stats.auth_failures = UINT64_MAX;
    stats_info(&out);
    buf_append(&out, "", 1);
    assert_int_equal(strncmp(buf_ptr(&out), "jobs_added:7\r\njobs_delivered:0\r\n", 32), 0);
    assert_non_null(strstr(buf_ptr(&out), "\r\nauth_failures:18446744073709551615\r\n"));
    for (const char *at = buf_ptr(&out); (at = strstr(at, "\r\n")) != NULL; at += 2)
        lines++;
#define X(name, doc) expected++;
    STATS_COUNTERS(X)
    STATS_MAXIMA(X)
#undef X
    assert_int_equal(lines, expected);
    buf_free(&out);
}

static void test_no_rate_without_samples(void **state) {
    (void)state;
    assert_int_equal(stats_ops_per_sec(), 0);
    stats_sample(0);
    assert_int_equal(stats_ops_per_sec(), 0);
    stats_sample(0);
    assert_int_equal(stats_ops_per_sec(), 0);
}

static void test_rates(void **state) {
    (void)state;
    for (int i = 0; i < 40; i++) {
        stats_sample(i * TENTH);
        stats.commands_processed += 50;
        stats.net_input_bytes += 10240;
        stats.net_output_bytes += 20480;
    }
    assert_int_equal(stats_ops_per_sec(), 500);
    assert_true(stats_input_kbps() > 99.9 && stats_input_kbps() < 100.1);
    assert_true(stats_output_kbps() > 199.9 && stats_output_kbps() < 200.1);
}

/* Samples older than 1.6 seconds do not count: sixteen tenths, and no more. */
static void test_rate_forgets(void **state) {
    (void)state;
    stats_sample(0);
    stats.commands_processed = 1600;
    for (int i = 1; i <= 16; i++)
        stats_sample(i * TENTH);
    assert_int_equal(stats_ops_per_sec(), 1000);
    stats_sample(17 * TENTH);
    assert_int_equal(stats_ops_per_sec(), 0);
}

/* The rate is by time, not by the number of samples. */
static void test_rate_of_late_samples(void **state) {
    (void)state;
    stats_sample(0);
    stats.commands_processed = 1000;
    stats_sample(20 * TENTH);
    assert_int_equal(stats_ops_per_sec(), 500);
}

static void test_reset(void **state) {
    (void)state;
    stats.commands_processed = 5000;
    stats_sample(0);
    stats_reset();
    assert_int_equal(stats.commands_processed, 0);
    stats_sample(TENTH);
    stats.commands_processed = 10;
    stats_sample(2 * TENTH);
    assert_int_equal(stats_ops_per_sec(), 100);
}

static void test_errors_by_code(void **state) {
    struct buf out = { 0 };

    (void)state;
    stats_count_error("ERR syntax error");
    stats_count_error("BADID Invalid Job ID format.");
    stats_count_error("ERR x");
    stats_count_error("ERRATIC");
    stats_count_error("what DEBUG ERROR may say");
    stats_count_error("");
    assert_int_equal(stats.errors_replied, 6);
    stats_errors_info(&out);
    buf_append(&out, "", 1);
    assert_string_equal(buf_ptr(&out), "errorstat_ERR:count=4\r\nerrorstat_BADID:count=1\r\n"
                                       "errorstat_ERRATIC:count=1\r\n");
    buf_reset(&out, 0);
    stats_reset();
    stats_errors_info(&out);
    assert_int_equal(buf_len(&out), 0);
    buf_free(&out);
}

/* Codes above the limit count in the sum only. */
static void test_more_codes_than_are_kept(void **state) {
    char code[] = "AAA";
    struct buf out = { 0 };
    size_t lines = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        code[0] = (char)('A' + i % 10);
        code[1] = (char)('A' + i / 10 % 10);
        code[2] = (char)('A' + i / 100);
        stats_count_error(code);
    }
    assert_int_equal(stats.errors_replied, 1000);
    stats_errors_info(&out);
    buf_append(&out, "", 1);
    for (const char *at = buf_ptr(&out); (at = strstr(at, "\r\n")) != NULL; at += 2)
        lines++;
    assert_int_equal(lines, 64);
    buf_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_info, start_clean),
        cmocka_unit_test_setup(test_no_rate_without_samples, start_clean),
        cmocka_unit_test_setup(test_rates, start_clean),
        cmocka_unit_test_setup(test_rate_forgets, start_clean),
        cmocka_unit_test_setup(test_rate_of_late_samples, start_clean),
        cmocka_unit_test_setup(test_reset, start_clean),
        cmocka_unit_test_setup(test_errors_by_code, start_clean),
        cmocka_unit_test_setup(test_more_codes_than_are_kept, start_clean),
    };

    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
