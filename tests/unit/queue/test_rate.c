/* The text of a rate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "queue/rate.h"

static void assert_rate(const char *text, int64_t count, int64_t period_s, const char *shown) {
    char out[RATE_TEXT_LEN];
    struct rate rate, again;

    assert_true(rate_parse(slice_str(text), &rate));
    assert_int_equal(rate.count, count);
    assert_int_equal(rate.period_s, period_s);
    rate_format(rate, out);
    assert_string_equal(out, shown);
    assert_true(rate_parse(slice_str(out), &again));
    assert_int_equal(again.count, count);
    assert_int_equal(again.period_s, period_s);
}

static void test_forms(void **state) {
    (void)state;
    assert_rate("0", 0, 1, "0");
    assert_rate("30", 30, 1, "30");
    assert_rate("5/s", 5, 1, "5");
    assert_rate("5/1s", 5, 1, "5");
    assert_rate("30/m", 30, 60, "30/m");
    assert_rate("30/60s", 30, 60, "30/m");
    assert_rate("1/10s", 1, 10, "1/10s");
    assert_rate("100/h", 100, 3600, "100/h");
    assert_rate("2/90s", 2, 90, "2/90s");
    assert_rate("2/90m", 2, 5400, "2/90m");
    assert_rate("7/2h", 7, 7200, "7/2h");
    assert_rate("1/d", 1, 86400, "1/d");
    assert_rate("1000000/24h", 1000000, 86400, "1000000/d");
    assert_rate("9223372036854775807/86399s", INT64_MAX, 86399, "9223372036854775807/86399s");
}

static void test_hostile(void **state) {
    static const char *const wrong[] = {
        "",
        "/",
        "0/0",
        "0/s",
        "0/m",
        "1/0s",
        "1/0",
        "1/",
        "/m",
        "/10s",
        "1/10",
        "-1/s",
        "1/-1s",
        "+1",
        "01/s",
        "1/01s",
        "1/+1s",
        "1/1x",
        "1/ms",
        "1/1ms",
        "1/m1",
        "1//s",
        "1/1/s",
        " 1/s",
        "1/s ",
        "1/ s",
        "1 /s",
        "1/2d",
        "1/25h",
        "1/1441m",
        "1/86401s",
        "1.5/s",
        "1/1.5s",
        "1/M",
        "1/S",
        "1e3/s",
        "0x1/s",
        "x",
        "s",
        "1/s/",
        "1/\xc3\xbc",
        "9223372036854775808/s",
        "1/9223372036854775807d",
        "1/9223372036854775808s",
        "1/99999999999999999999999d",
        "99999999999999999999999999999999999999999999999999999999999999999999999999/s",
    };
    struct rate rate;

    (void)state;
    for (size_t i = 0; i < LENGTH(wrong); i++)
        if (rate_parse(slice_str(wrong[i]), &rate))
            fail_msg("\"%s\" was parsed", wrong[i]);
    assert_false(rate_parse(SLICE("1/s\0"), &rate));
    assert_false(rate_parse(SLICE("1\0/s"), &rate));
    assert_false(rate_parse((struct slice){ 0 }, &rate));
}

/* The parser reads no byte after the text: each length of it is parsed or refused by itself. */
static void test_cut(void **state) {
    static const char text[] = "12/34m";
    static const bool parses[] = { false, true, true, false, false, false, true };
    struct rate rate;

    (void)state;
    for (size_t len = 0; len < sizeof text; len++)
        assert_int_equal(rate_parse((struct slice){ text, len }, &rate), parses[len]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_cut),
    };

    return cmocka_run_group_tests_name("rate", tests, NULL, NULL);
}
