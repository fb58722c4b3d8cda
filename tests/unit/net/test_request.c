/* A request: its arguments, its memory, its reply, and its single end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "net/request.h"

static struct {
    int ends;
    struct req *ended;
    char reply[64];
} seen;

/* Keeps the request, as a client does while earlier replies are missing. */
static void keep(struct req *r) {
    assert_true(r->done);
    seen.ends++;
    seen.ended = r;
}

static int forget(void **state) {
    (void)state;
    memset(&seen, 0, sizeof seen);
    return 0;
}

static struct req *new_request(void) {
    const struct slice argv[] = { SLICE("PING") };

    return req_new(1, argv, NULL, keep);
}

static void assert_arg(const struct req *r, int i, const char *bytes, size_t len) {
    assert_true(i < r->argc);
    assert_int_equal(r->argv[i].len, len);
    assert_memory_equal(r->argv[i].ptr, bytes, len);
}

static void assert_reply(struct req *r, const char *expected) {
    const struct buf *out = reply_buf(r);

    assert_int_equal(buf_len(out), strlen(expected));
    assert_memory_equal(buf_ptr(out), expected, strlen(expected));
}

/* ---- arguments ---- */

static void test_copies(void **state) {
    char bytes[] = "GETJOB\0q\0\0body";
    const struct slice argv[] = { { bytes, 6 }, { bytes + 7, 1 }, { bytes + 8, 0 }, { bytes + 8, 6 } };
    struct req *r = req_new(4, argv, NULL, keep);

    (void)state;
    memset(bytes, '#', sizeof bytes);
    assert_int_equal(r->argc, 4);
    assert_arg(r, 0, "GETJOB", 6);
    assert_arg(r, 1, "q", 1);
    assert_arg(r, 2, "", 0);
    assert_arg(r, 3, "\0\0body", 6);
    req_free(r);
}

static void test_takes_over(void **state) {
    struct buf in = { 0 };
    struct slice argv[2];
    struct req *r;
    const char *bytes;

    (void)state;
    buf_append_str(&in, "(gone)ADDJOB a long body");
    buf_consume(&in, 6);
    bytes = buf_ptr(&in);
    argv[0] = (struct slice){ bytes, 6 };
    argv[1] = (struct slice){ bytes + 7, 11 };
    r = req_new(2, argv, &in, keep);
    assert_null(in.data);
    assert_int_equal(in.cap, 0);
    argv[1] = SLICE("something else");
    assert_ptr_equal(r->argv[0].ptr, bytes);
    assert_arg(r, 0, "ADDJOB", 6);
    assert_arg(r, 1, "a long body", 11);
    buf_append_str(&in, "the next command");
    assert_arg(r, 1, "a long body", 11);
    buf_free(&in);
    req_free(r);
}

static void test_without_arguments(void **state) {
    struct req *r = req_new(0, NULL, NULL, keep);

    (void)state;
    assert_int_equal(r->argc, 0);
    reply_error(r, "ERR broken framing");
    assert_reply(r, "-ERR broken framing\r\n");
    req_free(r);
}

static void test_new_one(void **state) {
    struct req *r = new_request();

    (void)state;
    assert_int_equal(r->proto, 2);
    assert_false(r->done || r->failed || r->silent);
    assert_null(r->client);
    assert_null(r->data);
    assert_true(list_empty(&r->in_client));
    assert_true(list_empty(&r->task.turn.node));
    assert_int_equal(r->task.state, TASK_IDLE);
    assert_ptr_equal(REQ_OF_TASK(&r->task), r);
    assert_reply(r, "");
    req_free(r);
}

/* ---- memory ---- */

static void test_alloc(void **state) {
    struct req *r = new_request();
    unsigned char *pieces[40];

    (void)state;
    for (size_t i = 0; i < LENGTH(pieces); i++) {
        size_t size = i * 7;

        pieces[i] = req_alloc(r, size);
        assert_int_equal((uintptr_t)pieces[i] % sizeof(void *), 0);
        for (size_t k = 0; k < size; k++)
            assert_int_equal(pieces[i][k], 0);
        memset(pieces[i], (int)i, size);
    }
    for (size_t i = 0; i < LENGTH(pieces); i++)
        for (size_t k = 0; k < i * 7; k++)
            assert_int_equal(pieces[i][k], i);
    req_free(r);
}

/* ---- replies ---- */

static void test_replies(void **state) {
    static const char expected[] = "*8\r\n+PONG\r\n:-9223372036854775808\r\n$3\r\na\0b\r\n$0\r\n\r\n"
                                   "$-1\r\n*-1\r\n*4\r\n-ERR answer is 42\r\n";
    struct req *r = new_request();

    (void)state;
    reply_array(r, 8);
    reply_status(r, "PONG");
    reply_int(r, INT64_MIN);
    reply_bulk(r, SLICE("a\0b"));
    reply_bulk_str(r, "");
    reply_null_bulk(r);
    reply_null_array(r);
    reply_map(r, 2);
    reply_error(r, "ERR %s is %d", "answer", 42);
    assert_int_equal(buf_len(r->out), sizeof expected - 1);
    assert_memory_equal(buf_ptr(r->out), expected, sizeof expected - 1);
    assert_true(r->failed);
    assert_int_equal(seen.ends, 0);
    req_free(r);
}

static void test_replies_of_resp3(void **state) {
    struct req *r = new_request();

    (void)state;
    r->proto = 3;
    reply_map(r, 1);
    reply_null_bulk(r);
    reply_null_array(r);
    assert_reply(r, "%1\r\n_\r\n_\r\n");
    assert_false(r->failed);
    req_free(r);
}

/* No name or body can make an error into two replies, or too long. */
static void test_error_with_foreign_bytes(void **state) {
    struct req *r = new_request();
    char name[3000];

    (void)state;
    reply_error(r, "ERR no queue '%s'", "a\r\n+OK\nb");
    assert_reply(r, "-ERR no queue 'a  +OK b'\r\n");
    buf_reset(r->out, 0);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    reply_error(r, "ERR %s", name);
    assert_true(buf_len(r->out) > 1000 && buf_len(r->out) <= 1026);
    assert_memory_equal(buf_ptr(r->out) + buf_len(r->out) - 3, "n\r\n", 3);
    req_free(r);
}

/* The oldest request of a client writes into the client's output itself. */
static void test_out_of_a_client(void **state) {
    struct req *r = new_request();
    struct buf out = { 0 };

    (void)state;
    r->out = &out;
    assert_ptr_equal(reply_buf(r), &out);
    req_int(r, 3);
    assert_int_equal(buf_len(&out), 4);
    assert_memory_equal(buf_ptr(&out), ":3\r\n", 4);
    assert_int_equal(buf_len(&r->own), 0);
    req_free(r);
    buf_free(&out);
}

/* ---- ends ---- */

static void assert_ended(struct req *r, const char *reply, bool failed) {
    assert_int_equal(seen.ends, 1);
    assert_ptr_equal(seen.ended, r);
    assert_int_equal(r->failed, failed);
    assert_reply(r, reply);
    req_free(r);
}

static void test_end(void **state) {
    struct req *r = new_request();

    (void)state;
    req_end(r);
    assert_ended(r, "", false);
}

static void test_end_ok(void **state) {
    struct req *r = new_request();

    (void)state;
    req_ok(r);
    assert_ended(r, "+OK\r\n", false);
}

static void test_end_int(void **state) {
    struct req *r = new_request();

    (void)state;
    req_int(r, -1);
    assert_ended(r, ":-1\r\n", false);
}

static void test_end_error(void **state) {
    struct req *r = new_request();

    (void)state;
    req_error(r, "BADID %s", "no such");
    assert_ended(r, "-BADID no such\r\n", true);
}

static void test_end_text(void **state) {
    struct req *r = new_request();
    struct buf text = { 0 };

    (void)state;
    buf_append(&text, "a\0b", 3);
    req_text(r, &text);
    assert_null(text.data);
    assert_int_equal(seen.ends, 1);
    assert_int_equal(buf_len(r->out), 9);
    assert_memory_equal(buf_ptr(r->out), "$3\r\na\0b\r\n", 9);
    req_free(r);
}

static void test_end_text_of_nothing(void **state) {
    struct req *r = new_request();
    struct buf text = { 0 };

    (void)state;
    req_text(r, &text);
    assert_null(text.data);
    assert_ended(r, "$0\r\n\r\n", false);
}

static void test_end_db_error(void **state) {
    const struct op_error err = { "22P05", "no equivalent\nin encoding" };
    struct req *r = new_request();

    (void)state;
    req_db_error(r, &err);
    assert_ended(
        r, "-DBERR the database refused this request: no equivalent in encoding (SQLSTATE 22P05)\r\n", true);
}

/* Frees the request, as a request of the server itself is freed. */
static void end_and_free(struct req *r) {
    const struct buf *out = reply_buf(r);

    assert_true(r->done);
    seen.ends++;
    snprintf(seen.reply, sizeof seen.reply, "%.*s", (int)buf_len(out), buf_ptr(out));
    req_free(r);
}

static void test_end_may_free(void **state) {
    const struct slice argv[] = { SLICE("QUIT") };
    struct req *r = req_new(1, argv, NULL, end_and_free);

    (void)state;
    strcpy(req_alloc(r, 100), "is freed with it");
    req_ok(r);
    assert_int_equal(seen.ends, 1);
    assert_string_equal(seen.reply, "+OK\r\n");
}

#define TEST(fn) cmocka_unit_test_setup(fn, forget)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_copies),
        TEST(test_takes_over),
        TEST(test_without_arguments),
        TEST(test_new_one),
        TEST(test_alloc),
        TEST(test_replies),
        TEST(test_replies_of_resp3),
        TEST(test_error_with_foreign_bytes),
        TEST(test_out_of_a_client),
        TEST(test_end),
        TEST(test_end_ok),
        TEST(test_end_int),
        TEST(test_end_error),
        TEST(test_end_text),
        TEST(test_end_text_of_nothing),
        TEST(test_end_db_error),
        TEST(test_end_may_free),
    };

    return cmocka_run_group_tests_name("req", tests, NULL, NULL);
}
