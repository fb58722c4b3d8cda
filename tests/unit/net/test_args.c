/* Options of commands: tables, errors and their order, numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "net/args.h"

struct options {
    int64_t count;
    int64_t ttl;
    struct slice pattern;
    bool nohang;
    bool async;
    int64_t others;
};

static const struct arg_option options[] = {
    { "COUNT", ARG_INT, offsetof(struct options, count), 1, 100, "ERR COUNT must be in 1..100" },
    { "TTL", ARG_INT, offsetof(struct options, ttl), INT64_MIN, INT64_MAX, "ERR TTL must be a number" },
    { "MATCH", ARG_BYTES, offsetof(struct options, pattern), 0, 12, "ERR MATCH is too long" },
    { "NOHANG", ARG_FLAG, offsetof(struct options, nohang), 0, 0, NULL },
    { "ASYNC", ARG_FLAG, offsetof(struct options, async), 0, 0, NULL },
};

static const struct arg_spec plain = { options, LENGTH(options), NULL, "ERR no such option", NULL };
static const struct arg_spec until_from = { options, LENGTH(options), "FROM", "ERR no such option", NULL };

/* Takes "x", and refuses "y" with an error of its own. */
static bool take_other(struct req *r, int *at, void *out) {
    struct options *o = out;

    if (!slice_is(r->argv[*at], "x")) {
        req_error(r, "ERR neither option nor x");
        return false;
    }
    o->others++;
    (*at)++;
    return true;
}

static const struct arg_spec with_other = { options, LENGTH(options), "FROM", "ERR no such option",
                                            take_other };

/* ---- the effect of a call ---- */

static struct {
    struct req *r;
    struct options got;
    int end;
    int ends;
    bool ok;
} call;

static void on_end(struct req *r) {
    (void)r;
    call.ends++;
}

/* words: separated by single blanks; two blanks stand around an empty word. */
static void make(const char *words) {
    struct slice argv[32];
    int argc = 0;

    while (*words != '\0') {
        size_t len = strcspn(words, " ");

        argv[argc++] = (struct slice){ words, len };
        words += len + (words[len] == ' ');
    }
    call.r = req_new(argc, argv, NULL, on_end);
}

static int start(void **state) {
    (void)state;
    memset(&call, 0, sizeof call);
    return 0;
}

static int end(void **state) {
    (void)state;
    if (call.r != NULL)
        req_free(call.r);
    return 0;
}

static void again(void) {
    end(NULL);
    start(NULL);
}

static void parse_from(const struct arg_spec *spec, int from, const char *words) {
    again();
    call.got = (struct options){ .count = -7, .ttl = -7 };
    call.end = -1;
    make(words);
    call.ok = args_parse_or_reply(call.r, from, spec, &call.got, &call.end);
}

static void parse(const struct arg_spec *spec, const char *words) {
    parse_from(spec, 1, words);
}

/* The request has ended exactly once, with a reply that begins with error. */
static void assert_error(const char *error) {
    const struct buf *out = reply_buf(call.r);
    char line[256];

    snprintf(line, sizeof line, "-%s", error);
    assert_false(call.ok);
    assert_int_equal(call.ends, 1);
    assert_true(call.r->failed);
    assert_true(buf_len(out) > strlen(line));
    assert_memory_equal(buf_ptr(out), line, strlen(line));
}

static void assert_parsed(int end_at) {
    assert_true(call.ok);
    assert_int_equal(call.end, end_at);
    assert_int_equal(call.ends, 0);
    assert_int_equal(buf_len(reply_buf(call.r)), 0);
}

/* ---- options ---- */

static void test_nothing(void **state) {
    (void)state;
    parse(&plain, "CMD");
    assert_parsed(1);
    parse_from(&plain, 3, "CMD COUNT bad");
    assert_parsed(3);
    assert_int_equal(call.got.count, -7);
    assert_false(call.got.nohang || call.got.async);
}

static void test_all_kinds(void **state) {
    (void)state;
    parse(&plain, "CMD ASYNC COUNT 5 MATCH a* TTL -3");
    assert_parsed(8);
    assert_int_equal(call.got.count, 5);
    assert_int_equal(call.got.ttl, -3);
    assert_true(call.got.async);
    assert_false(call.got.nohang);
    assert_int_equal(call.got.pattern.len, 2);
    assert_memory_equal(call.got.pattern.ptr, "a*", 2);
}

static void test_case(void **state) {
    (void)state;
    parse(&until_from, "CMD nohang Count 9 aSYNC from q");
    assert_parsed(5);
    assert_true(call.got.nohang && call.got.async);
    assert_int_equal(call.got.count, 9);
    parse(&plain, "CMD COUNTS 9");
    assert_error("ERR no such option");
    parse(&plain, "CMD COUN 9");
    assert_error("ERR no such option");
}

static void test_the_last_one_counts(void **state) {
    (void)state;
    parse(&plain, "CMD COUNT 5 COUNT 6 NOHANG NOHANG");
    assert_parsed(7);
    assert_int_equal(call.got.count, 6);
    assert_true(call.got.nohang);
}

/* A value is not parsed as an option, with any content. */
static void test_values_that_look_like_words(void **state) {
    (void)state;
    parse(&until_from, "CMD MATCH FROM MATCH COUNT FROM q");
    assert_parsed(5);
    assert_memory_equal(call.got.pattern.ptr, "COUNT", 5);
    parse(&plain, "CMD MATCH  NOHANG");
    assert_parsed(4);
    assert_int_equal(call.got.pattern.len, 0);
    assert_true(call.got.nohang);
    parse(&until_from, "CMD COUNT FROM q");
    assert_error("ERR COUNT must be in 1..100");
}

static void test_stop_word(void **state) {
    (void)state;
    parse(&until_from, "CMD FROM COUNT 0 bad");
    assert_parsed(1);
    assert_int_equal(call.got.count, -7);
    parse(&until_from, "CMD COUNT 2");
    assert_parsed(3);
    parse(&plain, "CMD FROM");
    assert_error("ERR no such option");
}

static void test_missing_value(void **state) {
    (void)state;
    parse(&plain, "CMD COUNT");
    assert_error("ERR syntax error: COUNT needs a value");
    parse(&plain, "CMD NOHANG MATCH");
    assert_error("ERR syntax error: MATCH needs a value");
    parse(&with_other, "CMD TTL");
    assert_error("ERR syntax error: TTL needs a value");
}

static void test_unknown_word(void **state) {
    (void)state;
    parse(&plain, "CMD NOHANG bad COUNT 0");
    assert_error("ERR no such option");
    parse(&plain, "CMD ");
    assert_parsed(1);
    parse(&plain, "CMD  COUNT 3");
    assert_error("ERR no such option");
}

/* The reply is about the first error from the left. */
static void test_order_of_errors(void **state) {
    (void)state;
    parse(&plain, "CMD COUNT 0 bad");
    assert_error("ERR COUNT must be in 1..100");
    parse(&plain, "CMD bad COUNT 0");
    assert_error("ERR no such option");
    parse(&plain, "CMD TTL x COUNT 0");
    assert_error("ERR TTL must be a number");
    parse(&with_other, "CMD y COUNT 0");
    assert_error("ERR neither option nor x");
}

static void test_range(void **state) {
    static const struct {
        const char *words;
        bool ok;
    } cases[] = {
        { "CMD COUNT 1", true },    { "CMD COUNT 100", true },  { "CMD COUNT 0", false },
        { "CMD COUNT 101", false }, { "CMD COUNT -1", false },  { "CMD COUNT 1.5", false },
        { "CMD COUNT ten", false }, { "CMD COUNT 10x", false }, { "CMD COUNT 4294967297", false },
        { "CMD COUNT +7", true },   { "CMD COUNT 0007", true }, { "CMD COUNT 0x10", false },
        { "CMD COUNT  ", false },   { "CMD COUNT \t5", false }, { "CMD COUNT 18446744073709551617", false },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        parse(&plain, cases[i].words);
        if (cases[i].ok)
            assert_parsed(3);
        else
            assert_error("ERR COUNT must be in 1..100");
    }
}

static void test_limits_of_bytes(void **state) {
    (void)state;
    parse(&plain, "CMD MATCH 123456789012");
    assert_parsed(3);
    parse(&plain, "CMD MATCH 1234567890123");
    assert_error("ERR MATCH is too long");
}

static void test_limits_of_numbers(void **state) {
    (void)state;
    parse(&plain, "CMD TTL 9223372036854775807");
    assert_parsed(3);
    assert_true(call.got.ttl == INT64_MAX);
    parse(&plain, "CMD TTL -9223372036854775808");
    assert_parsed(3);
    assert_true(call.got.ttl == INT64_MIN);
    parse(&plain, "CMD TTL 9223372036854775808");
    assert_error("ERR TTL must be a number");
    parse(&plain, "CMD TTL -9223372036854775809");
    assert_error("ERR TTL must be a number");
    assert_true(call.got.ttl == -7);
}

static void test_other_words(void **state) {
    (void)state;
    parse(&with_other, "CMD x COUNT 4 X NOHANG FROM x");
    assert_parsed(6);
    assert_int_equal(call.got.others, 2);
    assert_int_equal(call.got.count, 4);
    parse(&with_other, "CMD x y x");
    assert_error("ERR neither option nor x");
    assert_int_equal(call.got.others, 1);
}

/* ---- timeouts ---- */

static bool timeout(const char *word, int64_t *ms) {
    char text[64];

    snprintf(text, sizeof text, "CMD %s", word);
    again();
    make(text);
    call.ok = args_timeout_or_reply(call.r, 1, ms);
    return call.ok;
}

static void test_timeout(void **state) {
    int64_t ms = -1;

    (void)state;
    assert_true(timeout("0", &ms));
    assert_int_equal(ms, 0);
    assert_true(timeout("9223372036854775807", &ms));
    assert_true(ms == INT64_MAX);
    assert_int_equal(call.ends, 0);
    assert_false(timeout("-1", &ms));
    assert_error("ERR timeout is negative");
    assert_false(timeout("soon", &ms));
    assert_error("ERR timeout is not an integer or out of range");
    assert_false(timeout("9223372036854775808", &ms));
    assert_error("ERR timeout is not an integer or out of range");
    assert_false(timeout("1.5", &ms));
    assert_error("ERR timeout is not an integer or out of range");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_nothing),
        TEST(test_all_kinds),
        TEST(test_case),
        TEST(test_the_last_one_counts),
        TEST(test_values_that_look_like_words),
        TEST(test_stop_word),
        TEST(test_missing_value),
        TEST(test_unknown_word),
        TEST(test_order_of_errors),
        TEST(test_range),
        TEST(test_limits_of_numbers),
        TEST(test_limits_of_bytes),
        TEST(test_other_words),
        TEST(test_timeout),
    };

    return cmocka_run_group_tests_name("args", tests, NULL, NULL);
}
