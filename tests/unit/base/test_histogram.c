/* Histograms: the bounds of buckets, and the samples of OpenMetrics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/histogram.h"

static void assert_line(const struct histogram *h, const char *labels, const char *line) {
    struct buf out = { 0 };

    histogram_samples(h, "wait", slice_str(labels), &out);
    buf_append(&out, "", 1);
    if (strstr(buf_ptr(&out), line) == NULL)
        fail_msg("no line %s in\n%s", line, buf_ptr(&out));
    buf_free(&out);
}

static void test_bounds_belong_to_their_buckets(void **state) {
    struct histogram h = { 0 };

    (void)state;
    histogram_add(&h, -5);
    histogram_add(&h, 0);
    histogram_add(&h, 1000);
    histogram_add(&h, 1001);
    histogram_add(&h, INT64_C(3600000000));
    histogram_add(&h, INT64_C(3600000001));
    histogram_add(&h, INT64_MAX);
    assert_int_equal(h.counts[0], 3);
    assert_int_equal(h.counts[1], 1);
    assert_int_equal(h.counts[HISTOGRAM_BUCKETS - 2], 1);
    assert_int_equal(h.counts[HISTOGRAM_BUCKETS - 1], 2);
}

static void test_buckets_are_cumulative(void **state) {
    struct histogram h = { 0 };

    (void)state;
    histogram_add(&h, 500);
    histogram_add(&h, 2000);
    histogram_add(&h, 1500000);
    assert_line(&h, "", "wait_bucket{le=\"0.001\"} 1\n");
    assert_line(&h, "", "wait_bucket{le=\"0.005\"} 2\n");
    assert_line(&h, "", "wait_bucket{le=\"1.0\"} 2\n");
    assert_line(&h, "", "wait_bucket{le=\"5.0\"} 3\n");
    assert_line(&h, "", "wait_bucket{le=\"+Inf\"} 3\nwait_count 3\nwait_sum 1.5025\n");
    assert_line(&h, "queue=\"q\"", "wait_bucket{queue=\"q\",le=\"0.001\"} 1\n");
    assert_line(&h, "queue=\"q\"", "wait_count{queue=\"q\"} 3\nwait_sum{queue=\"q\"} 1.5025\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds_belong_to_their_buckets),
        cmocka_unit_test(test_buckets_are_cumulative),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
