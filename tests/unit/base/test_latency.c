/* Samples of latency spikes, their graph, and the doctor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/latency.h"

#define T0 INT64_C(1790000000)

static int start_empty(void **state) {
    (void)state;
    latency_reset_all();
    return 0;
}

static const struct latency_event *event(const char *name) {
    const struct latency_event *e = latency_find(slice_str(name));

    assert_non_null(e);
    return e;
}

static void assert_sample(const struct latency_event *e, size_t index, int64_t unix_s, int64_t ms) {
    struct latency_sample s = latency_at(e, index);

    assert_int_equal(s.unix_s, unix_s);
    assert_int_equal(s.ms, ms);
}

static void test_samples(void **state) {
    (void)state;
    latency_add("command", T0, 100);
    latency_add("command", T0, 300);
    latency_add("command", T0, 200);
    latency_add("command", T0 + 1, 50);
    assert_int_equal(latency_count(event("command")), 2);
    assert_sample(event("command"), 0, T0, 300);
    assert_sample(event("command"), 1, T0 + 1, 50);
    assert_int_equal(latency_latest(event("command")).ms, 50);
    assert_int_equal(event("command")->max_ms, 300);
    assert_null(latency_find(SLICE("comman")));
}

static void test_ring(void **state) {
    (void)state;
    latency_add("db", T0, 9999);
    for (int i = 1; i <= 1000; i++)
        latency_add("db", T0 + i, i);
    assert_int_equal(latency_count(event("db")), LATENCY_SAMPLES);
    assert_sample(event("db"), 0, T0 + 841, 841);
    assert_sample(event("db"), LATENCY_SAMPLES - 1, T0 + 1000, 1000);
    assert_int_equal(event("db")->max_ms, 9999);
}

static void test_events(void **state) {
    (void)state;
    assert_null(latency_first());
    latency_add("a", T0, 1);
    latency_add("b", T0, 1);
    latency_add("c", T0, 1);
    assert_string_equal(latency_first()->name, "a");
    assert_string_equal(latency_next(latency_first())->name, "b");
    assert_true(latency_reset(SLICE("b")));
    assert_false(latency_reset(SLICE("b")));
    assert_string_equal(latency_next(latency_first())->name, "c");
    assert_null(latency_next(latency_next(latency_first())));
    assert_int_equal(latency_reset_all(), 2);
    assert_int_equal(latency_reset_all(), 0);
    assert_null(latency_first());
}

static char *graph(const char *name, int64_t unix_s) {
    struct buf out = { 0 };

    latency_graph(event(name), unix_s, &out);
    buf_append(&out, "", 1);
    return out.data;
}

static char *doctor(int64_t threshold_ms) {
    struct buf out = { 0 };

    latency_doctor(T0 + 10, threshold_ms, &out);
    buf_append(&out, "", 1);
    return out.data;
}

static void test_graph(void **state) {
    static const char expected[] =
        "db - high 800 ms, low 100 ms (all time high 800 ms)\n"
        "--------------------------------------------------------------------------------\n"
        "  #\n"
        "  #\n"
        " _#\n"
        "_##_\n"
        "\n"
        "2110\n"
        "d0ms\n"
        " h\n";
    char *text;

    (void)state;
    latency_add("db", T0 - 2 * 86400 - 5, 100);
    latency_add("db", T0 - 10 * 3600, 300);
    latency_add("db", T0 - 60, 800);
    latency_add("db", T0, 100);
    text = graph("db", T0);
    assert_string_equal(text, expected);
    free(text);
}

/* The newest 80 samples fit. Equal samples have the full height. A clock behind the samples is harmless. */
static void test_wide_graph(void **state) {
    char *text, *row;

    (void)state;
    for (int i = 0; i < 200; i++)
        latency_add("flat", T0 + i, 5);
    text = graph("flat", T0 - 100);
    row = strchr(strchr(text, '\n') + 1, '\n') + 1;
    assert_int_equal(strspn(row, "#"), 80);
    assert_int_equal(row[80], '\n');
    assert_non_null(strstr(text, "\n\n0000"));
    free(text);
}

static void assert_doctor(int64_t threshold_ms, const char *part) {
    char *text = doctor(threshold_ms);

    if (strstr(text, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, text);
    free(text);
}

static void test_doctor(void **state) {
    (void)state;
    assert_doctor(0, "Latency is not watched.");
    assert_doctor(100, "Nothing took 100 ms or longer so far.\n");
    latency_add("db", T0, 100);
    assert_doctor(100, "db: 1 slow second, 100 ms on average, the worst 100 ms, the last 10s ago.\n");
    latency_add("db", T0 + 3, 400);
    assert_doctor(100, "db: 2 slow seconds, 250 ms on average, the worst 400 ms, the last 7s ago.\n");
    assert_doctor(0, "Latency is not watched.");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_samples, start_empty, start_empty),
        cmocka_unit_test_setup_teardown(test_ring, start_empty, start_empty),
        cmocka_unit_test_setup_teardown(test_events, start_empty, start_empty),
        cmocka_unit_test_setup_teardown(test_graph, start_empty, start_empty),
        cmocka_unit_test_setup_teardown(test_wide_graph, start_empty, start_empty),
        cmocka_unit_test_setup_teardown(test_doctor, start_empty, start_empty),
    };

    return cmocka_run_group_tests_name("latency", tests, NULL, NULL);
}
