/* The check of JSON texts: valid and invalid ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/json.h"

/* In memory of exactly that size, so that a sanitizer sees a read behind it. */
static enum json_kind kind(const char *text) {
    size_t len = strlen(text);
    char *cut = xmemdup(text, len + (len == 0));
    enum json_kind kind = json_kind_of((struct slice){ cut, len });

    free(cut);
    return kind;
}

static void test_values(void **state) {
    (void)state;
    assert_int_equal(kind(" { \"a\" : 1 , \"b\" : [ true , null ] } "), JSON_OBJECT);
    assert_int_equal(kind("{}"), JSON_OBJECT);
    assert_int_equal(kind("[[],{},\"\",0]"), JSON_ARRAY);
    assert_int_equal(kind("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00Af\xc3\xa4\""), JSON_STRING);
    assert_int_equal(kind("-0.5e+10"), JSON_NUMBER);
    assert_int_equal(kind("1700000000000"), JSON_NUMBER);
    assert_int_equal(kind("1E-2"), JSON_NUMBER);
    assert_int_equal(kind("false"), JSON_WORD);
}

static void test_no_values(void **state) {
    static const char *const none[] = {
        "",        " ",           "nonsense", "{a:1}",    "{\"a\":}", "{\"a\" 1}", "{\"a\":1,}", "[1,]",
        "[1 2]",   "[1}",         "{\"a\"]",  "{",        "[",        "\"",        "\"\\",       "\"\\x\"",
        "\"\\u12", "\"\\u12g4\"", "\"\n\"",   "\"\xff\"", "01",       "+1",        "1.",         ".5",
        "1e",      "-",           "1 2",      "{} {}",    "tru",      "truely",    "undefined",  "NaN",
        "'a'",     "{\"a\":b}",   "[1,,2]",   "]",
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(none); i++) {
        if (kind(none[i]) != JSON_NONE)
            fail_msg("%s is taken for JSON", none[i]);
    }
}

/* Arrays in arrays end at a depth, not with the stack. */
static void test_depth(void **state) {
    size_t deep = 1000000;
    char *text = xmalloc(2 * deep);

    (void)state;
    memset(text, '[', deep);
    memset(text + deep, ']', deep);
    assert_int_equal(json_kind_of((struct slice){ text + deep - JSON_DEPTH, 2 * (size_t)JSON_DEPTH }),
                     JSON_ARRAY);
    assert_int_equal(json_kind_of((struct slice){ text + deep - JSON_DEPTH - 1, 2 * (size_t)JSON_DEPTH + 2 }),
                     JSON_NONE);
    assert_int_equal(json_kind_of((struct slice){ text, 2 * deep }), JSON_NONE);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_no_values),
        cmocka_unit_test(test_depth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
