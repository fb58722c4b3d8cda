/* Made JSON objects: escapes, and bytes that are not UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/json.h"

/* The object with that text under "q", or "no text". Valid until the next call. */
static const char *object(const char *bytes, size_t len) {
    static char text[400];
    char *cut = xmemdup(bytes, len + (len == 0));
    struct buf b = { 0 };
    bool good;

    json_begin(&b);
    good = json_add_text(&b, SLICE("q"), (struct slice){ cut, len });
    json_end(&b);
    buf_append(&b, "", 1);
    strcpy(text, good ? buf_ptr(&b) : "no text");
    buf_free(&b);
    free(cut);
    return text;
}
#define OBJECT(literal) object(literal, sizeof(literal) - 1)

static void test_texts(void **state) {
    (void)state;
    assert_string_equal(OBJECT(""), "{\"q\":\"\"}");
    assert_string_equal(OBJECT("a\"b\\c/\x7f"), "{\"q\":\"a\\\"b\\\\c/\x7f\"}");
    assert_string_equal(OBJECT("\0\n\t\x1f"), "{\"q\":\"\\u0000\\n\\t\\u001f\"}");
    assert_string_equal(OBJECT("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
                        "{\"q\":\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"}");
}

static void test_no_text(void **state) {
    static const char *const broken[] = { "\xff",         "\x80",         "\xc3",     "\xc0\x80",
                                          "\xe0\x80\x80", "\xed\xa0\x80", "\xe2\x82", "\xf4\x90\x80\x80",
                                          "\xf8\x88\x80", "\xe2\x82\x41", "a\xc3(" };

    (void)state;
    for (size_t i = 0; i < LENGTH(broken); i++)
        assert_string_equal(object(broken[i], strlen(broken[i])), "no text");
}

static void test_fields(void **state) {
    struct buf b = { 0 };

    (void)state;
    json_begin(&b);
    assert_true(json_add_text(&b, SLICE("a{"), SLICE("1")));
    assert_true(json_add_text(&b, SLICE("b"), SLICE("{")));
    assert_false(json_add_text(&b, SLICE("\xff"), SLICE("2")));
    assert_int_equal(strncmp(buf_ptr(&b), "{\"a{\":\"1\",\"b\":\"{\"", 17), 0);
    buf_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_no_text),
        cmocka_unit_test(test_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
