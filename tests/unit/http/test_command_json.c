/* Commands from JSON: words of each kind, lists, and bodies that are no commands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/buf.h"
#include "http/command_json.h"

static void expect_command(struct slice text, size_t count, const struct slice *words) {
    struct command_list list;
    char err[256];

    assert_true(commands_from_json(text, &list, err, sizeof err));
    assert_true(list.is_single);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.commands[0].count, count);
    for (size_t i = 0; i < count; i++)
        assert_true(slice_equal(list.commands[0].words[i], words[i]));
    command_list_free(&list);
}

#define EXPECT_WORDS(text, ...)                                \
    do {                                                       \
        const struct slice words[] = { __VA_ARGS__ };          \
        expect_command(slice_str(text), LENGTH(words), words); \
    } while (0)

static void test_words(void **state) {
    (void)state;
    EXPECT_WORDS("[\"a\"]", SLICE("a"));
    EXPECT_WORDS(" [ \"a\" ,1,\t-5 , \"\" ]\r\n", SLICE("a"), SLICE("1"), SLICE("-5"), SLICE(""));
    EXPECT_WORDS("[\"\\u00e9\\u0000\\/\", \"\xc3\xa9\", \"\\ud83d\\ude00\"]", SLICE("\xc3\xa9\0/"),
                 SLICE("\xc3\xa9"), SLICE("\xf0\x9f\x98\x80"));
    EXPECT_WORDS("[{\"base64\": \"/wA=\"}, {\"base64\":\"\\/wA=\"}, {\"base64\":\"\"}, \"\\n\"]",
                 SLICE("\xff\0"), SLICE("\xff\0"), SLICE(""), SLICE("\n"));
}

static void test_list(void **state) {
    struct command_list list;
    char err[256];

    (void)state;
    assert_true(commands_from_json(SLICE("[[\"a\"], [\"b\", -5]]"), &list, err, sizeof err));
    assert_false(list.is_single);
    assert_int_equal(list.count, 2);
    assert_true(slice_equal(list.commands[1].words[1], SLICE("-5")));
    command_list_free(&list);
}

static void expect_refused(struct slice text, const char *part) {
    struct command_list list;
    char err[256];

    assert_false(commands_from_json(text, &list, err, sizeof err));
    assert_non_null(strstr(err, part));
    assert_int_equal(list.count, 0);
}

static void expect_wrong(const char *text, const char *part) {
    expect_refused(slice_str(text), part);
}

static void test_wrong(void **state) {
    (void)state;
    expect_wrong("", "expected an array of 1 to");
    expect_wrong("\"a\"", "expected an array of 1 to");
    expect_wrong("{\"a\": 1}", "expected an array of 1 to");
    expect_wrong("[]", "expected an array of 1 to");
    expect_wrong("[[]]", "expected an array of 1 to");
    expect_wrong("[[\"a\"], 5]", "expected an array of 1 to");
    expect_wrong("[[\"a\"], [true]]", "word 1 is neither");
    expect_wrong("[\"a\", 1.5]", "word 2 is neither");
    expect_wrong("[9223372036854775808]", "word 1 is neither");
    expect_wrong("[\"a\x01\"]", "word 1 is neither");
    expect_wrong("[\"\xff\"]", "word 1 is neither");
    expect_wrong("[\"\\ud800\"]", "word 1 is neither");
    expect_wrong("[{\"base64\": \"!\"}]", "word 1 is neither");
    expect_wrong("[{\"base64\": \"AA==\", \"a\": 1}]", "word 1 is neither");
    expect_wrong("[{}]", "word 1 is neither");
    expect_wrong("[\"a\"", "not JSON behind byte 4");
    expect_wrong("[\"a\" \"b\"]", "not JSON behind byte 4");
    expect_wrong("[\"a\",]", "not JSON behind byte 4");
    expect_wrong("[\"a\"] x", "not JSON behind byte 4");
    expect_wrong("[\"a\"}", "not JSON behind byte 4");
    expect_wrong("[[\"a\"],[\"b\" 1]]", "not JSON behind byte 11");
    expect_wrong("[[\"a\"],", "not JSON behind byte 6");
}

/* The text behind the first part that is no command is not read. */
static void test_end_of_scan(void **state) {
    struct buf text = { 0 };

    (void)state;
    buf_append_str(&text, "[");
    for (int i = 0; i < COMMAND_WORDS_MAX + 1; i++)
        buf_append_str(&text, "1,");
    buf_append_str(&text, "nonsense");
    expect_refused((struct slice){ buf_ptr(&text), buf_len(&text) }, "expected an array of 1 to");
    buf_reset(&text, 0);
    buf_append_str(&text, "[");
    for (int i = 0; i < HTTP_COMMANDS_MAX + 1; i++)
        buf_append_str(&text, "[\"a\"],");
    buf_append_str(&text, "nonsense");
    expect_refused((struct slice){ buf_ptr(&text), buf_len(&text) }, "at most 100 commands");
    buf_free(&text);
    expect_wrong("[true, nonsense", "word 1 is neither");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_end_of_scan),
    };

    return cmocka_run_group_tests_name("command_json", tests, NULL, NULL);
}
