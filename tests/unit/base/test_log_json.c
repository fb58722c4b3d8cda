/* Lines of the log as JSON: fields, escapes, cuts. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/log_json.h"

static json_t *parsed(size_t room, const char *node, const char *subject, const void *message, size_t len) {
    char line[4096];
    const struct log_record r = { INT64_C(1795386590007), "notice", 17, node, subject, { message, len } };
    size_t written;
    json_error_t error;
    json_t *object;

    memset(line, 'x', sizeof line);
    written = log_json(line, room, &r);
    assert_true(written < room);
    assert_int_equal(line[written], '\0');
    assert_int_equal(line[room], 'x');
    assert_null(memchr(line, '\n', written));
    object = json_loads(line, JSON_REJECT_DUPLICATES, &error);
    if (object == NULL)
        fail_msg("%s: %s", error.text, line);
    return object;
}

static const char *field(const json_t *object, const char *name) {
    return json_string_value(json_object_get(object, name));
}

static void test_fields(void **state) {
    json_t *o = parsed(2048, "0123abcd", "database writes", "connected", 9);

    (void)state;
    assert_string_equal(field(o, "time"), "2026-11-22T22:29:50.007Z");
    assert_string_equal(field(o, "level"), "notice");
    assert_int_equal(json_integer_value(json_object_get(o, "pid")), 17);
    assert_string_equal(field(o, "node"), "0123abcd");
    assert_string_equal(field(o, "subject"), "database writes");
    assert_string_equal(field(o, "message"), "connected");
    assert_int_equal(json_object_size(o), 6);
    json_decref(o);
}

static void test_a_client_has_its_number_and_address(void **state) {
    json_t *o = parsed(2048, "", "client 12 [::1]:4711", "x", 1);

    (void)state;
    assert_null(json_object_get(o, "node"));
    assert_string_equal(field(o, "subject"), "client");
    assert_int_equal(json_integer_value(json_object_get(o, "client")), 12);
    assert_string_equal(field(o, "address"), "[::1]:4711");
    json_decref(o);
    o = parsed(2048, "", "clients", "x", 1);
    assert_string_equal(field(o, "subject"), "clients");
    json_decref(o);
}

static void test_a_job_has_its_id_and_trace(void **state) {
    static const char trace[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    json_t *o = parsed(2048, "", "job D-464d85ff-ID", "x", 1);
    char subject[128];

    (void)state;
    assert_string_equal(field(o, "subject"), "job");
    assert_string_equal(field(o, "job"), "D-464d85ff-ID");
    assert_null(json_object_get(o, "traceparent"));
    json_decref(o);
    snprintf(subject, sizeof subject, "job D-464d85ff-ID %s", trace);
    o = parsed(2048, "", subject, "x", 1);
    assert_string_equal(field(o, "job"), "D-464d85ff-ID");
    assert_string_equal(field(o, "traceparent"), trace);
    json_decref(o);
}

static void test_bytes_are_escaped(void **state) {
    json_t *o = parsed(2048, "", "say \"hi\\", "a\"b\\c\x01\t\x7f\xff\xc3\xa9\xc3", 12);

    (void)state;
    assert_string_equal(field(o, "subject"), "say \"hi\\");
    assert_string_equal(field(o, "message"), "a\"b\\c\x01\t\x7f\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd");
    json_decref(o);
}

/* Each length of each kind of character ends in a complete object. */
static void test_a_long_message_is_cut(void **state) {
    static const char *const characters[] = { "a", "\"", "\xff", "\xc3\xa9", "\xf0\x9f\x98\x80", "\x01" };
    char message[4096], subject[512];

    (void)state;
    memset(subject, 's', sizeof subject - 1);
    subject[sizeof subject - 1] = '\0';
    for (size_t i = 0; i < LENGTH(characters); i++) {
        size_t bytes = strlen(characters[i]);

        for (size_t at = 0; at + bytes <= sizeof message; at += bytes)
            memcpy(message + at, characters[i], bytes);
        for (size_t room = LOG_JSON_MIN; room < LOG_JSON_MIN + 40; room++) {
            json_t *o = parsed(room, "0123456789012345678901234567890123456789", subject, message,
                               sizeof message / bytes * bytes);

            assert_in_range(strlen(field(o, "subject")), 1, 64);
            assert_in_range(strlen(field(o, "message")), 100, LOG_JSON_MIN + 40);
            json_decref(o);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_a_client_has_its_number_and_address),
        cmocka_unit_test(test_a_job_has_its_id_and_trace),
        cmocka_unit_test(test_bytes_are_escaped),
        cmocka_unit_test(test_a_long_message_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
