/* Fields of JSON objects: found at the outermost level, and nothing that is cut off passes for whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/json.h"

/* The field q of an object: its text, or its kind. The copy has its own end, for the sanitizer. */
static const char *field(const char *object) {
    static char text[200];
    char *copy = xmemdup(object, strlen(object) + 1),
         *cut = xrealloc(copy, strlen(object) + (*object == '\0'));
    struct slice value = { NULL, 0 };
    enum json_found found = json_field((struct slice){ cut, strlen(object) }, "q", &value);

    if (found == JSON_FOUND)
        snprintf(text, sizeof text, "%.*s", (int)value.len, value.ptr);
    else
        snprintf(text, sizeof text, "%s", found == JSON_ABSENT ? "absent" : "broken");
    free(cut);
    return text;
}

static void test_values(void **state) {
    (void)state;
    assert_string_equal(field("{\"q\":\"a\"}"), "\"a\"");
    assert_string_equal(field(" { \"a\" : 1.5e3 ,\n\t\"q\" : true } "), "true");
    assert_string_equal(field("{\"q\":{\"q\":[1,\"}\\\"\"]},\"b\":[]}"), "{\"q\":[1,\"}\\\"\"]}");
    assert_string_equal(field("{\"a\":{\"q\":1},\"b\":[{\"q\":2}],\"q\":-3}"), "-3");
    assert_string_equal(field("{\"a\":\"\\\\\",\"q\":null}"), "null");
    assert_string_equal(field("{\"q\":1,\"q\":2}"), "2");
    assert_string_equal(field("{}"), "absent");
    assert_string_equal(field("{\"a\":{\"q\":1},\"qq\":2,\"\":3}"), "absent");
}

static void test_broken(void **state) {
    static const char *const broken[] = {
        "",          "q",     "[\"q\"]",    "{\"q\":1}x",        "{\"q\":}",
        "{\"q\" 1}", "{q:1}", "{\"q\":1,}", "{\"q\":1 \"a\":2}", "{\"q\":\"\\",
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(broken); i++)
        assert_string_equal(field(broken[i]), "broken");
}

/* Cut off anywhere, it is broken. */
static void test_cut(void **state) {
    static const char whole[] = "{\"q\": \"a\\\"b\", \"c\": [1, {\"d\": \"]\"}], \"e\": 12}";
    char part[sizeof whole];

    (void)state;
    for (size_t len = 0; len < sizeof whole - 1; len++) {
        memcpy(part, whole, len);
        part[len] = '\0';
        assert_string_equal(field(part), "broken");
    }
    assert_string_equal(field(whole), "\"a\\\"b\"");
}

static void test_strings(void **state) {
    struct slice text;

    (void)state;
    assert_true(json_plain_string(SLICE("\"mail\""), &text) && slice_equal(text, SLICE("mail")));
    assert_true(json_plain_string(SLICE("\"\""), &text) && text.len == 0);
    assert_false(json_plain_string(SLICE("12"), &text));
    assert_false(json_plain_string(SLICE("\""), &text));
    assert_false(json_plain_string(SLICE("\"a\\n\""), &text));
}

/* The characters of a JSON string, or "none". */
static const char *characters(const char *string) {
    static char out[64];
    struct slice text;

    assert_true(strlen(string) < sizeof out);
    if (!json_unescape(slice_str(string), out, &text))
        return "none";
    out[text.len] = '\0';
    return out;
}

static void test_escapes(void **state) {
    static const char *const wrong[] = {
        "12",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\ud83d\"",
        "\"\\ud83d\\u0041\"",
        "\"\\udca9\\ud83d\"",
        "\"\\ud83dxx\"",
    };

    (void)state;
    assert_string_equal(characters("\"plain\""), "plain");
    assert_string_equal(characters("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), "\"\\/\b\f\n\r\t");
    assert_string_equal(characters("\"\\u0041\\u00e9\\u20AC\\ud83d\\uDCA9.\""),
                        "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xa9.");
    for (size_t i = 0; i < LENGTH(wrong); i++)
        assert_string_equal(characters(wrong[i]), "none");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_broken),  cmocka_unit_test(test_cut),
        cmocka_unit_test(test_strings), cmocka_unit_test(test_escapes),
    };

    return cmocka_run_group_tests_name("fields of JSON", tests, NULL, NULL);
}
