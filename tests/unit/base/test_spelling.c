/* The nearest known word: how far away it may be, and which of several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/spelling.h"

static const char *const known[] = { "GETJOB", "ADDJOB", "ACKJOB", "SET", "SUBSCRIBE", "PSUBSCRIBE", "X" };

static void assert_nearest(const char *word, const char *expected) {
    struct spelling s;

    spelling_init(&s, slice_str(word));
    for (size_t i = 0; i < LENGTH(known); i++)
        spelling_offer(&s, slice_str(known[i]));
    assert_int_equal(s.nearest.len, strlen(expected));
    assert_memory_equal(s.nearest.ptr == NULL ? "" : s.nearest.ptr, expected, s.nearest.len);
}

static void test_near(void **state) {
    (void)state;
    assert_nearest("getjob", "GETJOB");
    assert_nearest("GETJBO", "GETJOB");
    assert_nearest("GETJO", "GETJOB");
    assert_nearest("GETJOBS", "GETJOB");
    assert_nearest("GATJOB", "GETJOB");
    assert_nearest("AKCJOB", "ACKJOB");
    assert_nearest("PSUBSCIRBE", "PSUBSCRIBE");
    assert_nearest("SETT", "SET");
}

static void test_far(void **state) {
    (void)state;
    assert_nearest("", "");
    assert_nearest("FOO", "");
    assert_nearest("SATT", "");
    assert_nearest("Y", "");
    assert_nearest("TAKEJUB", "");
}

static void test_bounds(void **state) {
    char text[SPELLING_MAX + 2];
    struct spelling s;

    (void)state;
    memset(text, 'a', sizeof text);
    text[SPELLING_MAX + 1] = '\0';
    assert_nearest(text, "");
    spelling_init(&s, SLICE("aaaa"));
    spelling_offer(&s, slice_str(text));
    assert_int_equal(s.nearest.len, 0);
    text[SPELLING_MAX] = '\0';
    spelling_init(&s, slice_str(text));
    spelling_offer(&s, (struct slice){ text, SPELLING_MAX - 1 });
    assert_int_equal(s.nearest.len, SPELLING_MAX - 1);
}

static void test_question(void **state) {
    char text[SPELLING_QUESTION_SIZE];

    (void)state;
    spelling_question(SLICE("GETJOB"), text);
    assert_string_equal(text, ", did you mean GETJOB?");
    spelling_question((struct slice){ NULL, 0 }, text);
    assert_string_equal(text, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near),
        cmocka_unit_test(test_far),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_question),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
