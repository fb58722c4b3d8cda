/* Replies of RESP3 as JSON: the end of a reply in pieces, values, maps, hostile bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "http/reply_json.h"
#include "http/reply_scan.h"

/* Scans the bytes in two pieces, cut everywhere. */
static void expect_end(struct slice bytes, size_t end) {
    for (size_t cut = 0; cut <= bytes.len; cut++) {
        struct reply_scan scan = { 0 };
        enum reply_scan_result result = reply_scan_next(&scan, (struct slice){ bytes.ptr, cut });

        assert_int_equal(result, cut < end ? REPLY_INCOMPLETE : REPLY_COMPLETE);
        if (result == REPLY_INCOMPLETE)
            assert_int_equal(reply_scan_next(&scan, bytes), REPLY_COMPLETE);
        assert_int_equal(scan.at, end);
    }
}

static void expect_json_of(struct slice reply, const char *json,
                           void (*write)(struct slice *replies, struct buf *out)) {
    struct slice rest = reply;
    struct buf text = { 0 };

    expect_end(reply, reply.len);
    write(&rest, &text);
    buf_append(&text, "", 1);
    assert_string_equal(buf_ptr(&text), json);
    assert_int_equal(rest.len, 0);
    buf_free(&text);
}

#define EXPECT_JSON(reply, json) expect_json_of(SLICE(reply), json, reply_to_json)

static void test_values(void **state) {
    (void)state;
    EXPECT_JSON("+OK\r\n", "\"OK\"");
    EXPECT_JSON("-ERR no\r\n", "{\"error\":\"ERR no\"}");
    EXPECT_JSON(":-9223372036854775808\r\n", "-9223372036854775808");
    EXPECT_JSON("$0\r\n\r\n", "\"\"");
    EXPECT_JSON("$4\r\na\r\nb\r\n", "\"a\\r\\nb\"");
    EXPECT_JSON("$2\r\n\xff\x00\r\n", "{\"base64\":\"/wA=\"}");
    EXPECT_JSON("$-1\r\n", "null");
    EXPECT_JSON("*-1\r\n", "null");
    EXPECT_JSON("_\r\n", "null");
    EXPECT_JSON("#t\r\n", "true");
    EXPECT_JSON("#f\r\n", "false");
    EXPECT_JSON(",1.5\r\n", "1.5");
    EXPECT_JSON(",inf\r\n", "\"inf\"");
    EXPECT_JSON("=7\r\ntxt:abc\r\n", "\"abc\"");
}

static void test_groups(void **state) {
    (void)state;
    EXPECT_JSON("*0\r\n", "[]");
    EXPECT_JSON("*2\r\n*1\r\n:1\r\n~1\r\n$1\r\nx\r\n", "[[1],[\"x\"]]");
    EXPECT_JSON("%0\r\n", "{}");
    EXPECT_JSON("%2\r\n$1\r\na\r\n%1\r\n:5\r\n_\r\n+b\r\n*0\r\n", "{\"a\":{\"5\":null},\"b\":[]}");
    EXPECT_JSON("%2\r\n$1\r\n\xff\r\n:1\r\n$1\r\nb\r\n:2\r\n", "[[{\"base64\":\"/w==\"},1],[\"b\",2]]");
    EXPECT_JSON("%1\r\n$1\r\n\0\r\n:1\r\n", "{\"\\u0000\":1}");
    EXPECT_JSON("%1\r\n*1\r\n:1\r\n:2\r\n", "[[[1],2]]");
}

static void test_names_in_turns(void **state) {
    (void)state;
    expect_json_of(SLICE("*4\r\n$1\r\na\r\n:1\r\n+b\r\n*0\r\n"), "{\"a\":1,\"b\":[]}", reply_pairs_to_json);
    expect_json_of(SLICE("*1\r\n:1\r\n"), "[1]", reply_pairs_to_json);
    expect_json_of(SLICE("_\r\n"), "null", reply_pairs_to_json);
}

static void test_next_reply(void **state) {
    struct slice both = SLICE("*1\r\n:1\r\n+two\r\n");
    struct reply_scan scan = { 0 };

    (void)state;
    expect_end(both, 8);
    assert_int_equal(reply_scan_next(&scan, both), REPLY_COMPLETE);
    assert_int_equal(reply_scan_next(&scan, both), REPLY_COMPLETE);
    assert_int_equal(scan.at, both.len);
    assert_int_equal(scan.values, 3);
}

static void expect_broken(struct slice bytes) {
    struct reply_scan scan = { 0 };

    assert_int_equal(reply_scan_next(&scan, bytes), REPLY_BROKEN);
}

static void test_broken(void **state) {
    (void)state;
    expect_broken(SLICE("nonsense\r\n"));
    expect_broken(SLICE("$x\r\n"));
    expect_broken(SLICE("*-2\r\n"));
    expect_broken(SLICE("$999999999999999999\r\n"));
    expect_broken(SLICE("*999999999999999999\r\n"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),         cmocka_unit_test(test_groups),
        cmocka_unit_test(test_names_in_turns), cmocka_unit_test(test_next_reply),
        cmocka_unit_test(test_broken),
    };

    return cmocka_run_group_tests_name("reply_json", tests, NULL, NULL);
}
