/* The log of slow commands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/slowlog.h"

static int start_empty(void **state) {
    (void)state;
    slowlog_reset();
    slowlog_set_max_len(128);
    return 0;
}

static void add(const char *word, int64_t usec) {
    struct slice argv[] = { slice_str(word) };

    slowlog_add(1, argv, usec, 1790000000999999, "127.0.0.1:4711", "worker");
}

static void assert_arg(const struct slowlog_entry *e, int index, const char *text) {
    assert_true(index < e->argc);
    assert_int_equal(e->argv[index].len, strlen(text));
    assert_memory_equal(e->argv[index].ptr, text, strlen(text));
}

static void test_fields(void **state) {
    struct slice argv[] = { SLICE("ADDJOB"), SLICE("q\0q"), SLICE("") };
    const struct slowlog_entry *e;

    (void)state;
    assert_null(slowlog_newest());
    slowlog_add(3, argv, 12345, 1790000000999999, "127.0.0.1:4711", "worker");
    e = slowlog_newest();
    assert_int_equal(e->unix_s, 1790000000);
    assert_int_equal(e->usec, 12345);
    assert_string_equal(e->addr, "127.0.0.1:4711");
    assert_string_equal(e->name, "worker");
    assert_int_equal(e->argc, 3);
    assert_arg(e, 0, "ADDJOB");
    assert_int_equal(e->argv[1].len, 3);
    assert_memory_equal(e->argv[1].ptr, "q\0q", 3);
    assert_int_equal(e->argv[2].len, 0);
    assert_null(slowlog_older(e));
}

static void test_newest_first(void **state) {
    const struct slowlog_entry *e;
    int64_t id;

    (void)state;
    add("first", 1);
    add("second", 2);
    add("third", 3);
    e = slowlog_newest();
    id = e->id;
    assert_arg(e, 0, "third");
    e = slowlog_older(e);
    assert_arg(e, 0, "second");
    assert_int_equal(e->id, id - 1);
    e = slowlog_older(e);
    assert_arg(e, 0, "first");
    assert_null(slowlog_older(e));
    /* IDs are not used twice, so that a reader knows which entries are new. */
    slowlog_reset();
    assert_int_equal(slowlog_len(), 0);
    assert_null(slowlog_newest());
    add("fourth", 4);
    assert_int_equal(slowlog_newest()->id, id + 1);
}

static void test_length(void **state) {
    (void)state;
    for (int i = 0; i < 300; i++)
        add("x", i);
    assert_int_equal(slowlog_len(), 128);
    slowlog_set_max_len(2);
    assert_int_equal(slowlog_len(), 2);
    assert_int_equal(slowlog_newest()->usec, 299);
    assert_int_equal(slowlog_older(slowlog_newest())->usec, 298);
    slowlog_set_max_len(0);
    add("x", 1);
    assert_int_equal(slowlog_len(), 0);
}

static void test_long_arguments(void **state) {
    char bytes[200], expected[200];
    struct slice argv[] = { { bytes, 128 }, { bytes, 129 }, { bytes, 200 } };
    const struct slowlog_entry *e;

    (void)state;
    memset(bytes, 'b', sizeof(bytes));
    slowlog_add(3, argv, 1, 1, "", "");
    e = slowlog_newest();
    snprintf(expected, sizeof(expected), "%.128s", bytes);
    assert_arg(e, 0, expected);
    snprintf(expected, sizeof(expected), "%.128s... (1 more bytes)", bytes);
    assert_arg(e, 1, expected);
    snprintf(expected, sizeof(expected), "%.128s... (72 more bytes)", bytes);
    assert_arg(e, 2, expected);
}

static void test_many_arguments(void **state) {
    struct slice argv[100];

    (void)state;
    for (size_t i = 0; i < LENGTH(argv); i++)
        argv[i] = SLICE("a");
    slowlog_add(32, argv, 1, 1, "", "");
    assert_int_equal(slowlog_newest()->argc, 32);
    assert_arg(slowlog_newest(), 31, "a");
    slowlog_add(33, argv, 1, 1, "", "");
    assert_int_equal(slowlog_newest()->argc, 32);
    assert_arg(slowlog_newest(), 30, "a");
    assert_arg(slowlog_newest(), 31, "... (2 more arguments)");
    slowlog_add(100, argv, 1, 1, "", "");
    assert_arg(slowlog_newest(), 31, "... (69 more arguments)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fields, start_empty, start_empty),
        cmocka_unit_test_setup_teardown(test_newest_first, start_empty, start_empty),
        cmocka_unit_test_setup_teardown(test_length, start_empty, start_empty),
        cmocka_unit_test_setup_teardown(test_long_arguments, start_empty, start_empty),
        cmocka_unit_test_setup_teardown(test_many_arguments, start_empty, start_empty),
    };

    return cmocka_run_group_tests_name("slowlog", tests, NULL, NULL);
}
