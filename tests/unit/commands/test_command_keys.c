/* Which arguments are keys, by all the shapes that synopses have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "commands/command_keys.h"

#define WORDS 16

static struct command with(const char *synopsis) {
    return (struct command){ .name = "x", .arity = -1, .args = synopsis };
}

static void assert_range_in_steps(const char *synopsis, int first, int last, int step, bool movable) {
    struct command cmd = with(synopsis);
    struct key_range range = command_key_range(&cmd);

    assert_int_equal(range.first, first);
    assert_int_equal(range.last, last);
    assert_int_equal(range.step, step);
    assert_int_equal(range.movable, movable);
}

static void assert_range(const char *synopsis, int first, int last, bool movable) {
    assert_range_in_steps(synopsis, first, last, first != 0, movable);
}

/* keys and words are separated by blanks; the first word is the command. */
static void assert_keys(const char *synopsis, const char *words, const char *keys) {
    struct command cmd = with(synopsis);
    struct slice argv[WORDS];
    char found[128] = "", copy[128], *save = NULL;
    int places[WORDS], argc = 0, count;

    snprintf(copy, sizeof copy, "%s", words);
    for (char *w = strtok_r(copy, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save))
        argv[argc++] = slice_str(w);
    count = command_find_keys(&cmd, argc, argv, places);
    for (int i = 0; i < count; i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), i == 0 ? "%s" : " %s",
                 argv[places[i]].ptr);
    assert_string_equal(found, keys);
}

static void test_none(void **state) {
    (void)state;
    assert_range("", 0, 0, false);
    assert_range("id [id ...]", 0, 0, false);
    assert_range("[cursor] [QUEUE queue]", 0, 0, false);
    assert_range("GET pattern | LEN", 0, 0, false);
    assert_keys("id [id ...]", "X a b", "");
    assert_keys("", "X", "");
}

static void test_at_fixed_places(void **state) {
    (void)state;
    assert_range("queue job ms-timeout [DELAY seconds]", 1, 1, false);
    assert_range("name cron queue job [TTL seconds]", 3, 3, false);
    assert_range("source destination LEFT|RIGHT LEFT|RIGHT", 1, 2, false);
    assert_range("USAGE key [SAMPLES count]", 2, 2, false);
    assert_range("ENCODING|FREQ key", 2, 2, false);
    assert_keys("name cron queue job [TTL seconds]", "X n c q j TTL 5", "q");
    assert_keys("source destination LEFT|RIGHT LEFT|RIGHT", "X a b LEFT RIGHT", "a b");
    assert_keys("USAGE key [SAMPLES count]", "X usage q samples 5", "q");
    assert_keys("USAGE key [SAMPLES count]", "X FOO q", "");
}

static void test_several(void **state) {
    (void)state;
    assert_range("key [key ...]", 1, -1, false);
    assert_range("key [key ...] timeout", 1, -2, false);
    assert_keys("key [key ...]", "X a b c", "a b c");
    assert_keys("key [key ...] timeout", "X a b 0", "a b");
    assert_keys("key [key ...] timeout", "X", "");
}

static void test_in_groups(void **state) {
    (void)state;
    assert_range_in_steps("key value [key value ...]", 1, -1, 2, false);
    assert_keys("key value [key value ...]", "X a 1", "a");
    assert_keys("key value [key value ...]", "X a 1 b 2 c 3", "a b c");
    assert_keys("key value [key value ...]", "X a 1 b", "a b");
    assert_range("key field value [field value ...]", 1, 1, false);
    assert_keys("key field value [field value ...]", "X a f 1 g 2", "a");
}

static void test_behind_a_word(void **state) {
    (void)state;
    assert_range("[NOHANG] [TIMEOUT ms] FROM queue [queue ...]", 0, 0, true);
    assert_keys("[NOHANG] [TIMEOUT ms] FROM queue [queue ...]", "X FROM a", "a");
    assert_keys("[NOHANG] [TIMEOUT ms] FROM queue [queue ...]", "X timeout 5 from a from", "a from");
    assert_keys("[NOHANG] [TIMEOUT ms] FROM queue [queue ...]", "X NOHANG a", "");
    assert_keys("[NOHANG] [TIMEOUT ms] FROM queue [queue ...]", "X FROM", "");
}

static void test_counted(void **state) {
    (void)state;
    assert_range("numkeys key [key ...] LEFT|RIGHT [COUNT count]", 0, 0, true);
    assert_keys("numkeys key [key ...] LEFT|RIGHT [COUNT count]", "X 2 a b LEFT COUNT 5", "a b");
    assert_keys("timeout numkeys key [key ...] LEFT|RIGHT [COUNT count]", "X 0 1 a LEFT", "a");
    assert_keys("numkeys key [key ...] LEFT|RIGHT [COUNT count]", "X 9 a b LEFT", "");
    assert_keys("numkeys key [key ...] LEFT|RIGHT [COUNT count]", "X 0 a b LEFT", "");
    assert_keys("numkeys key [key ...] LEFT|RIGHT [COUNT count]", "X -1 a b LEFT", "");
    assert_keys("numkeys key [key ...] LEFT|RIGHT [COUNT count]", "X b a b LEFT", "");
    assert_keys("numkeys key [key ...] LEFT|RIGHT [COUNT count]", "X", "");
    assert_range("script numkeys [key ...] [arg ...]", 0, 0, true);
    assert_keys("script numkeys [key ...] [arg ...]", "X s 2 a b c", "a b");
    assert_keys("script numkeys [key ...] [arg ...]", "X s 0 a b c", "");
    assert_keys("script numkeys [key ...] [arg ...]", "X s 2 a", "");
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),    cmocka_unit_test(test_at_fixed_places),
        cmocka_unit_test(test_several), cmocka_unit_test(test_behind_a_word),
        cmocka_unit_test(test_counted), cmocka_unit_test(test_in_groups),
    };

    return cmocka_run_group_tests_name("command_keys", tests, NULL, NULL);
}
