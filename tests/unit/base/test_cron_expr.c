/* Cron expressions: syntax, next times, and changes of the clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "base/cron_expr.h"
#include "base/timezone.h"
#include "cron_cases.h"
#include "random.h"

/* ---- notation ---- */

static int64_t at(const char *text) {
    struct tm tm = { 0 };

    assert_non_null(strptime(text, "%Y-%m-%d %H:%M:%S", &tm));
    return timegm(&tm);
}

static const char *text_of(int64_t moment) {
    static char text[40];
    time_t t = (time_t)moment;
    struct tm tm;

    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", gmtime_r(&t, &tm));
    return text;
}

static struct cron_expr parsed(const char *text) {
    struct cron_expr e;
    char error[400] = "";

    if (!cron_parse(slice_str(text), &e, error, sizeof error))
        fail_msg("%s: %s", text, error);
    return e;
}

static int32_t utc(int64_t moment) {
    (void)moment;
    return 0;
}

/* Two hours ahead from the 28th of March 01:00 UTC on, one hour from the 31st of October 01:00 UTC on. */
#define SPRING "2027-03-28 01:00:00"
#define AUTUMN "2027-10-31 01:00:00"
static int32_t summer_time(int64_t moment) {
    static int64_t spring, autumn;

    if (spring == 0) {
        spring = at(SPRING);
        autumn = at(AUTUMN);
    }
    return moment >= spring && moment < autumn ? 7200 : 3600;
}

/* The ticks after a moment, in UTC, must be these; separated by commas. */
static void ticks(const char *text, int32_t (*offset_at)(int64_t), const char *after, const char *want) {
    struct cron_expr e = parsed(text);
    char *copy = strdup(want), *save = NULL;
    int64_t now = at(after);

    for (char *tick = strtok_r(copy, ",", &save); tick != NULL; tick = strtok_r(NULL, ",", &save)) {
        now = cron_next(&e, at(after), now, offset_at);
        if (strcmp(text_of(now), tick) != 0)
            fail_msg("%s after %s: got %s, want %s", text, after, text_of(now), tick);
    }
    free(copy);
}

static void next(const char *text, const char *after, const char *want) {
    ticks(text, utc, after, want);
}

static void refused(const char *text, const char *why) {
    struct cron_expr e;
    char error[400] = "";

    if (cron_parse(slice_str(text), &e, error, sizeof error))
        fail_msg("%s: was taken", text);
    if (strstr(error, why) == NULL)
        fail_msg("%s: got '%s', want '%s'", text, error, why);
}

/* ---- syntax ---- */

static void test_fields(void **state) {
    (void)state;
    next("* * * * *", "2027-01-01 00:00:00", "2027-01-01 00:01:00,2027-01-01 00:02:00");
    next("* * * * * *", "2027-01-01 00:00:59", "2027-01-01 00:01:00,2027-01-01 00:01:01");
    next("30 4 * * *", "2027-01-01 04:30:00", "2027-01-02 04:30:00");
    next("5 30 4 * * *", "2027-01-01 04:30:00", "2027-01-01 04:30:05");
    next("*/15 9-17 * * *", "2027-01-01 17:45:00", "2027-01-02 09:00:00,2027-01-02 09:15:00");
    next("10/20 * * * *", "2027-01-01 00:00:00",
         "2027-01-01 00:10:00,2027-01-01 00:30:00,2027-01-01 00:50:00,2027-01-01 01:10:00");
    next("1-10/4,58 * * * *", "2027-01-01 00:00:00",
         "2027-01-01 00:01:00,2027-01-01 00:05:00,2027-01-01 00:09:00,2027-01-01 00:58:00");
    next("0 0 1 JAN,jul *", "2027-01-01 00:00:00", "2027-07-01 00:00:00,2028-01-01 00:00:00");
    next("0 0 * * mon-wed", "2027-01-01 00:00:00",
         "2027-01-04 00:00:00,2027-01-05 00:00:00,2027-01-06 00:00:00,2027-01-11 00:00:00");
    next("0 0 * * 7", "2027-01-01 00:00:00", "2027-01-03 00:00:00");
    next("0 0 * * 5-7", "2027-01-01 00:00:00", "2027-01-02 00:00:00,2027-01-03 00:00:00,2027-01-08 00:00:00");
    next("  0   0  *  * ?  ", "2027-01-01 00:00:00", "2027-01-02 00:00:00");
    next("59 23 31 12 *", "2027-12-31 23:59:00", "2028-12-31 23:59:00");
}

static void test_days(void **state) {
    (void)state;
    next("0 0 31 * *", "2027-01-31 00:00:00", "2027-03-31 00:00:00,2027-05-31 00:00:00");
    next("0 0 29 2 *", "2027-01-01 00:00:00", "2028-02-29 00:00:00,2032-02-29 00:00:00");
    next("0 0 29 2 *", "2096-03-01 00:00:00", "2104-02-29 00:00:00");
    next("0 0 13 * fri", "2027-08-01 00:00:00", "2027-08-06 00:00:00,2027-08-13 00:00:00");
    next("0 0 */2 * fri", "2027-08-02 00:00:00", "2027-08-13 00:00:00,2027-08-27 00:00:00");
    next("0 0 29 2 */3", "2027-03-01 00:00:00", "2032-02-29 00:00:00");
}

static void test_shorthands(void **state) {
    (void)state;
    next("@hourly", "2027-01-01 00:00:01", "2027-01-01 01:00:00");
    next("@daily", "2027-01-01 00:00:01", "2027-01-02 00:00:00");
    next("@midnight", "2027-01-01 00:00:01", "2027-01-02 00:00:00");
    next("@weekly", "2027-01-01 00:00:01", "2027-01-03 00:00:00");
    next("@monthly", "2027-01-01 00:00:01", "2027-02-01 00:00:00");
    next("@YEARLY", "2027-01-01 00:00:01", "2028-01-01 00:00:00");
    next("@annually", "2027-01-01 00:00:01", "2028-01-01 00:00:00");
    next("@every 90s", "2027-01-01 00:00:01", "2027-01-01 00:01:31,2027-01-01 00:03:01");
    next("@every 1h30m", "2027-01-01 00:00:01", "2027-01-01 01:30:01,2027-01-01 03:00:01");
    next("@every 2d", "2027-01-01 00:00:01", "2027-01-03 00:00:01");
}

/* However many were passed over, the beat stays. */
static void test_every_keeps_its_beat(void **state) {
    struct cron_expr e = parsed("@every 7s");

    (void)state;
    assert_int_equal(cron_next(&e, 1000, 1000, utc), 1007);
    assert_int_equal(cron_next(&e, 1000, 1006, utc), 1007);
    assert_int_equal(cron_next(&e, 1000, 1007, utc), 1014);
    assert_int_equal(cron_next(&e, 1000, 1700, utc), 1707);
    assert_int_equal(cron_next(&e, 1000, 990, utc), 1000);
}

static void test_errors(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(cron_refused); i++)
        refused(cron_refused[i].text, cron_refused[i].error);
}

static void test_accepted(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(cron_accepted); i++)
        parsed(cron_accepted[i]);
}

static void test_zone_is_read(void **state) {
    (void)state;
    assert_string_equal(parsed("TZ=Europe/Berlin 0 3 * * *").zone, "Europe/Berlin");
    assert_string_equal(parsed("CRON_TZ=UTC @daily").zone, "UTC");
    assert_string_equal(parsed("@daily").zone, "");
}

/* ---- the clocks are changed ---- */

static void test_a_time_left_out_is_at_the_end_of_the_gap(void **state) {
    (void)state;
    ticks("30 2 * * *", summer_time, "2027-03-27 00:00:00",
          "2027-03-27 01:30:00," SPRING ",2027-03-29 00:30:00");
    ticks("*/20 * * * *", summer_time, "2027-03-28 00:30:00",
          "2027-03-28 00:40:00," SPRING ",2027-03-28 01:20:00");
    ticks("0 2,3 * * *", summer_time, "2027-03-28 00:00:00", SPRING ",2027-03-29 00:00:00");
    ticks("@daily", summer_time, "2027-03-27 22:00:00", "2027-03-27 23:00:00,2027-03-28 22:00:00");
}

static void test_a_time_that_comes_twice_is_one(void **state) {
    (void)state;
    ticks("30 2 * * *", summer_time, "2027-10-30 12:00:00", "2027-10-31 00:30:00,2027-11-01 01:30:00");
    ticks("*/30 * * * *", summer_time, "2027-10-31 00:00:00",
          "2027-10-31 00:30:00,2027-10-31 02:00:00,2027-10-31 02:30:00");
    ticks("30 2 * * *", summer_time, "2027-10-31 01:10:00", "2027-11-01 01:30:00");
    ticks("@every 1h", summer_time, "2027-10-31 00:00:00", "2027-10-31 01:00:00,2027-10-31 02:00:00");
}

static void expect_ticks_in(const char *cron, const char *after, const char *first, const char *second) {
    struct cron_expr e = parsed(cron);
    int64_t tick;

    if (!timezone_exists(e.zone))
        skip();
    timezone_enter(e.zone);
    tick = cron_next(&e, 0, at(after), timezone_offset_at);
    assert_string_equal(text_of(tick), first);
    assert_string_equal(text_of(cron_next(&e, 0, tick, timezone_offset_at)), second);
    timezone_leave();
}

/* The clocks of Lord Howe change by half an hour, and those of the south in the other half of the year. */
static void test_a_change_of_half_an_hour(void **state) {
    (void)state;
    expect_ticks_in("TZ=Australia/Lord_Howe 15 2 * * *", "2027-10-02 00:00:00", "2027-10-02 15:30:00",
                    "2027-10-03 15:15:00");
    expect_ticks_in("TZ=Australia/Lord_Howe 45 1 * * *", "2027-04-03 00:00:00", "2027-04-03 14:45:00",
                    "2027-04-04 15:15:00");
    expect_ticks_in("TZ=America/New_York 30 2 14 3 *", "2027-01-01 00:00:00", "2027-03-14 07:00:00",
                    "2028-03-14 06:30:00");
    expect_ticks_in("TZ=America/New_York 0 * * * *", "2027-11-07 04:30:00", "2027-11-07 05:00:00",
                    "2027-11-07 07:00:00");
}

static void test_zones_of_the_system(void **state) {
    struct cron_expr e = parsed("TZ=Europe/Berlin 30 2 * * *");

    (void)state;
    assert_true(timezone_exists(""));
    assert_false(timezone_exists("Nowhere/Else"));
    assert_false(timezone_exists("../../../etc/passwd"));
    assert_false(timezone_exists("/etc/localtime"));
    assert_false(timezone_exists("Europe"));
    if (!timezone_exists(e.zone))
        skip();
    setenv("TZ", "XYZ5", 1);
    timezone_enter(e.zone);
    assert_string_equal(text_of(cron_next(&e, 0, at("2027-03-27 12:00:00"), timezone_offset_at)), SPRING);
    assert_string_equal(text_of(cron_next(&e, 0, at("2027-10-30 12:00:00"), timezone_offset_at)),
                        "2027-10-31 00:30:00");
    assert_string_equal(text_of(cron_next(&e, 0, at("2060-07-01 12:00:00"), timezone_offset_at)),
                        "2060-07-02 00:30:00");
    timezone_leave();
    assert_string_equal(getenv("TZ"), "XYZ5");
    timezone_enter("");
    assert_int_equal(timezone_offset_at(at(SPRING)), 0);
    timezone_leave();
}

/* ---- against looking at every second ---- */

static bool fits(const struct cron_expr *e, int64_t local) {
    time_t t = (time_t)local;
    struct tm tm;
    bool day, weekday;

    gmtime_r(&t, &tm);
    day = (e->day >> tm.tm_mday & 1) != 0;
    weekday = (e->weekday >> tm.tm_wday & 1) != 0;
    return (e->second >> tm.tm_sec & 1) && (e->minute >> tm.tm_min & 1) && (e->hour >> tm.tm_hour & 1) &&
           (e->month >> (tm.tm_mon + 1) & 1) && (e->either_day ? day || weekday : day && weekday);
}

/* True if a tick is among the seconds of local time that begin at a moment. Where the clock is put forward there are
 * several such seconds. A second that the clock has shown before does not count. */
static bool is_tick(const struct cron_expr *e, int64_t moment, int64_t *shown) {
    bool is = false;

    for (int64_t local = moment + summer_time(moment); *shown < local;)
        is |= fits(e, ++*shown);
    return is;
}

static void random_field(char *out, size_t size, int min, int max) {
    int low = min + (int)random_below((uint64_t)(max - min + 1));
    int high = low + (int)random_below((uint64_t)(max - low + 1));

    switch (random_below(5)) {
    case 0:
        snprintf(out, size, "%d", low);
        break;
    case 1:
        snprintf(out, size, "%d-%d", low, high);
        break;
    case 2:
        snprintf(out, size, "%d,%d/%d", high, low, 1 + (int)random_below(20));
        break;
    case 3:
        snprintf(out, size, "*/%d", 1 + (int)random_below(30));
        break;
    default:
        snprintf(out, size, "*");
    }
}

static void random_cron(char *out, size_t size) {
    char second[20], minute[20], hour[20], day[20], weekday[20];

    random_field(second, sizeof second, 0, 59);
    random_field(minute, sizeof minute, 0, 59);
    random_field(hour, sizeof hour, 0, 23);
    random_field(day, sizeof day, 1, 31);
    random_field(weekday, sizeof weekday, 0, 7);
    snprintf(out, size, "%s %s %s %s * %s", second, minute, hour, day, weekday);
}

#define LOOK_S (3 * 86400)

/* Compares tick by tick. If the next tick is far away, the function only checks that no tick comes before. */
static void compare(const char *text, int64_t from) {
    struct cron_expr e = parsed(text);
    int64_t shown = from + summer_time(from), want = cron_next(&e, 0, from, summer_time);

    /* A time that the clock shows for the second time is over. */
    for (int64_t past = from - 86400; past < from; past++)
        if (past + summer_time(past) > shown)
            shown = past + summer_time(past);
    for (int64_t moment = from + 1; moment < from + LOOK_S; moment++) {
        bool is = is_tick(&e, moment, &shown);

        if (is != (moment == want))
            fail_msg("%s: %s %s a tick", text, text_of(moment), is ? "is" : "is not");
        if (is)
            want = cron_next(&e, 0, moment, summer_time);
    }
}

static void test_as_the_clock_goes(void **state) {
    const char *const begins[] = { SPRING, AUTUMN, "2028-02-28 12:00:00", "2027-12-31 00:00:00" };

    (void)state;
    random_start(27);
    for (int i = 0; i < 60; i++) {
        char text[120];
        int64_t from = at(begins[i % 4]) - 86400 + (int64_t)random_below(90000);

        random_cron(text, sizeof text);
        compare(text, from);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_days),
        cmocka_unit_test(test_shorthands),
        cmocka_unit_test(test_every_keeps_its_beat),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_zone_is_read),
        cmocka_unit_test(test_a_time_left_out_is_at_the_end_of_the_gap),
        cmocka_unit_test(test_a_time_that_comes_twice_is_one),
        cmocka_unit_test(test_a_change_of_half_an_hour),
        cmocka_unit_test(test_zones_of_the_system),
        cmocka_unit_test(test_as_the_clock_goes),
    };

    return cmocka_run_group_tests_name("cron_expr", tests, NULL, NULL);
}
