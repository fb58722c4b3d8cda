/* Shapes of replies: accepted and refused ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tools/redis_reply.h"

static redisReply *parse(const char *bytes) {
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    assert_int_equal(redisReaderFeed(reader, bytes, strlen(bytes)), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    redisReaderFree(reader);
    return reply;
}

static bool fits(const char *bytes, const char *shape) {
    redisReply *r = parse(bytes);
    bool good = redis_reply_fits(r, shape);

    freeReplyObject(r);
    return good;
}

#define OK "+OK\r\n"
#define ONE ":1\r\n"
#define TEXT "$1\r\nx\r\n"
#define NIL "$-1\r\n"
#define NIL_ARRAY "*-1\r\n"
#define EMPTY "*0\r\n"
#define ERROR_REPLY "-ERR no\r\n"

static void test_single(void **state) {
    static const char *const replies[] = { OK, ONE, TEXT, NIL, NIL_ARRAY, EMPTY, ERROR_REPLY };
    /* A column for each reply above. */
    static const struct {
        const char *shape, *fitting;
    } table[] = {
        { "s", "1010000" },  { "i", "0100000" },  { "n", "0001100" },    { "a", "1111111" },
        { "s?", "1011100" }, { "[]", "0000010" }, { "[s*]", "0000010" }, { "[s*]?", "0001110" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(table); i++) {
        for (size_t j = 0; j < LENGTH(replies); j++) {
            if (fits(replies[j], table[i].shape) != (table[i].fitting[j] == '1'))
                fail_msg("%s and %s", table[i].shape, replies[j]);
        }
    }
    assert_false(redis_reply_fits(NULL, "a"));
}

static void test_arrays(void **state) {
    (void)state;
    assert_true(fits("*2\r\n" TEXT ONE, "[si]"));
    assert_false(fits("*2\r\n" ONE TEXT, "[si]"));
    assert_false(fits("*1\r\n" TEXT, "[si]"));
    assert_false(fits("*3\r\n" TEXT ONE ONE, "[si]"));
    assert_true(fits("*3\r\n" TEXT ONE ONE, "[si*]"));
    assert_true(fits("*1\r\n" TEXT, "[si*]"));
    assert_false(fits("*3\r\n" TEXT ONE TEXT, "[si*]"));
    assert_true(fits("*2\r\n" TEXT NIL, "[ss?]"));
    assert_false(fits("*2\r\n" TEXT ONE, "[ss?]"));
    assert_false(fits("*2\r\n" TEXT NIL, "[s*]"));
}

static void test_pairs(void **state) {
    (void)state;
    assert_true(fits(EMPTY, "[(sa)*]"));
    assert_true(fits("*4\r\n" TEXT ONE TEXT EMPTY, "[(sa)*]"));
    assert_false(fits("*3\r\n" TEXT ONE TEXT, "[(sa)*]"));
    assert_false(fits("*2\r\n" ONE ONE, "[(sa)*]"));
    assert_true(fits("*2\r\n*2\r\n" TEXT ONE EMPTY, "[[(si)*]*]"));
    assert_false(fits("*2\r\n*1\r\n" TEXT EMPTY, "[[(si)*]*]"));
    assert_true(fits("*2\r\n" TEXT "*1\r\n*2\r\n" TEXT ONE, "[s[[(sa)*]*]]"));
    assert_false(fits("*2\r\n" TEXT "*1\r\n" TEXT, "[s[[(sa)*]*]]"));
}

static void test_fields(void **state) {
    redisReply *r = parse("*6\r\n" ONE TEXT "$1\r\na\r\n" ONE "$1\r\nb\r\n" TEXT);

    (void)state;
    assert_int_equal(redis_reply_field(r, "a")->integer, 1);
    assert_null(redis_reply_text(r, "a"));
    assert_string_equal(redis_reply_text(r, "b"), "x");
    assert_null(redis_reply_field(r, "x"));
    freeReplyObject(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
