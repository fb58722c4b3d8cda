/* Strings, numbers, buffers and clocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "base/buf.h"
#include "base/clock.h"
#include "base/util.h"

/* A slice in memory of its exact size, so that the sanitizer sees every byte too far. */
static struct slice exact(const char *text, size_t len) {
    char *copy = malloc(len == 0 ? 1 : len);

    assert_non_null(copy);
    memcpy(copy, text, len);
    return (struct slice){ copy, len };
}

static void release(struct slice s) {
    free((char *)s.ptr);
}

#define REFUSED INT64_C(-4242)

struct number {
    struct slice text;
    int64_t strict; /* REFUSED: no number */
    int64_t disque;
};

#define NUMBER(text, strict, disque) \
    { { text, sizeof(text) - 1 }, strict, disque }

static const struct number numbers[] = {
    NUMBER("0", 0, 0),
    NUMBER("7", 7, 7),
    NUMBER("-1", -1, -1),
    NUMBER("1234567890", 1234567890, 1234567890),
    NUMBER("9223372036854775807", INT64_MAX, INT64_MAX),
    NUMBER("9223372036854775808", REFUSED, REFUSED),
    NUMBER("-9223372036854775808", INT64_MIN, INT64_MIN),
    NUMBER("-9223372036854775809", REFUSED, REFUSED),
    NUMBER("18446744073709551617", REFUSED, REFUSED),
    NUMBER("99999999999999999999999999", REFUSED, REFUSED),
    NUMBER("", REFUSED, 0),
    NUMBER("-", REFUSED, REFUSED),
    NUMBER("+", REFUSED, REFUSED),
    NUMBER("+5", REFUSED, 5),
    NUMBER("-0", REFUSED, 0),
    NUMBER("00", REFUSED, 0),
    NUMBER("010", REFUSED, 10),
    NUMBER("-07", REFUSED, -7),
    NUMBER("--7", REFUSED, REFUSED),
    NUMBER("+-7", REFUSED, REFUSED),
    NUMBER(" 5", REFUSED, REFUSED),
    NUMBER("5 ", REFUSED, REFUSED),
    NUMBER("1.5", REFUSED, REFUSED),
    NUMBER("1e3", REFUSED, REFUSED),
    NUMBER("0x10", REFUSED, REFUSED),
    NUMBER("abc", REFUSED, REFUSED),
    NUMBER("5:", REFUSED, REFUSED),
    NUMBER("5/", REFUSED, REFUSED),
    NUMBER("5\0junk", REFUSED, 5),
    NUMBER("\0", REFUSED, 0),
    NUMBER("\0"
           "7",
           REFUSED, 0),
};

static void check_number(struct slice text, bool (*parse)(struct slice, int64_t *), int64_t expected) {
    struct slice s = exact(text.ptr, text.len);
    int64_t value = REFUSED;
    bool ok = parse(s, &value);

    if (ok != (expected != REFUSED) || value != expected)
        fail_msg("'%.*s' gave %s, %lld", (int)text.len, text.ptr, ok ? "yes" : "no", (long long)value);
    release(s);
}

static void test_parse_int(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(numbers); i++) {
        check_number(numbers[i].text, parse_int_strict, numbers[i].strict);
        check_number(numbers[i].text, parse_int_disque, numbers[i].disque);
    }
}

static void test_parse_size(void **state) {
    static const struct number sizes[] = {
        NUMBER("512", 512, 0),
        NUMBER("0", 0, 0),
        NUMBER("3b", 3, 0),
        NUMBER("4k", 4000, 0),
        NUMBER("4kb", 4096, 0),
        NUMBER("2M", 2000000, 0),
        NUMBER("64mb", 67108864, 0),
        NUMBER("1g", 1000000000, 0),
        NUMBER("1Gb", 1073741824, 0),
        NUMBER("8589934591gb", INT64_C(8589934591) << 30, 0),
        NUMBER("8589934592gb", REFUSED, 0),
        NUMBER("9223372036854775808", REFUSED, 0),
        NUMBER("", REFUSED, 0),
        NUMBER("mb", REFUSED, 0),
        NUMBER("-1mb", REFUSED, 0),
        NUMBER("1 mb", REFUSED, 0),
        NUMBER("1tb", REFUSED, 0),
        NUMBER("1kbb", REFUSED, 0),
        NUMBER("1.5gb", REFUSED, 0),
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(sizes); i++)
        check_number(sizes[i].text, parse_size, sizes[i].strict);
}

static void test_slices(void **state) {
    char *copy = slice_dup(SLICE("a\0b"));

    (void)state;
    assert_memory_equal(copy, "a\0b", 4);
    free(copy);
    assert_true(slice_equal(SLICE("a\0b"), SLICE("a\0b")));
    assert_false(slice_equal(SLICE("a\0b"), SLICE("a\0c")));
    assert_false(slice_equal(SLICE("a"), SLICE("ab")));
    assert_true(slice_equal((struct slice){ NULL, 0 }, SLICE("")));
    assert_true(slice_is(SLICE("NoHang"), "nohang"));
    assert_false(slice_is(SLICE("NoHan"), "nohang"));
    assert_false(slice_is(SLICE("NoHangs"), "nohang"));
    assert_false(slice_is(SLICE("get\0"), "get"));
    assert_false(slice_is(SLICE("@"), "`"));
    assert_true(slice_is((struct slice){ NULL, 0 }, ""));
}

static void test_text(void **state) {
    char *text = xasprintf("%s-%0100d", "long", 7);
    char hex[7];

    (void)state;
    assert_int_equal(strlen(text), 105);
    assert_string_equal(text + 100, "00007");
    free(text);
    hex_encode((const unsigned char *)"\x00\xaf\x9b", 3, hex);
    assert_string_equal(hex, "00af9b");
}

/* Appends and consumes pieces of growing sizes and compares with one long run. */
static void test_buf_fifo(void **state) {
    struct buf b = { 0 };
    unsigned char in = 0, out = 0;

    (void)state;
    for (size_t i = 1; i < 600; i++) {
        char *place = buf_reserve(&b, i);

        for (size_t j = 0; j < i; j++)
            place[j] = (char)in++;
        buf_added(&b, i);
        for (size_t j = 0; j < i - 1; j++)
            assert_int_equal((unsigned char)buf_ptr(&b)[j], (unsigned char)(out + j));
        buf_consume(&b, i - 1);
        out = (unsigned char)(out + i - 1);
    }
    assert_int_equal(buf_len(&b), 599);
    assert_true(b.cap < 16384);
    buf_free(&b);
    assert_null(b.data);
}

static void test_buf_text(void **state) {
    struct buf b = { 0 };
    char word[1000];

    (void)state;
    memset(word, 'w', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    buf_append_str(&b, "a");
    buf_append(&b, NULL, 0);
    buf_printf(&b, "%d%s", 42, word);
    buf_printf(&b, "%s", "");
    assert_int_equal(buf_len(&b), 3 + 999);
    assert_memory_equal(buf_ptr(&b), "a42www", 6);
    assert_int_equal(buf_ptr(&b)[1001], 'w');
    buf_reset(&b, 1 << 20);
    assert_int_equal(buf_len(&b), 0);
    assert_non_null(b.data);
    buf_reset(&b, 0);
    assert_null(b.data);
}

/* An exact reservation is not doubled, because large bodies would cost twice their size. */
static void test_buf_exact(void **state) {
    struct buf b = { 0 };

    (void)state;
    buf_append(&b, "x", 1);
    buf_reserve(&b, 1000000);
    assert_int_equal(b.cap, 1000001);
    buf_free(&b);
}

static void test_clock(void **state) {
    int64_t mono;

    (void)state;
    clock_turn();
    mono = clock_mono();
    assert_true(mono > 0);
    assert_int_equal(clock_db(), clock_unix());
    assert_true(llabs(clock_unix() / US_PER_S - (int64_t)time(NULL)) <= 2);
    while (clock_mono_now() == mono)
        continue;
    assert_int_equal(clock_mono(), mono);
    (void)clock_sync_db(5000000, mono - 100, mono - 100);
    assert_int_equal(clock_db(), 5000100);
    clock_turn();
    assert_int_equal(clock_db(), 5000100 + clock_mono() - mono);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_int), cmocka_unit_test(test_parse_size), cmocka_unit_test(test_slices),
        cmocka_unit_test(test_text),      cmocka_unit_test(test_buf_fifo),   cmocka_unit_test(test_buf_text),
        cmocka_unit_test(test_buf_exact), cmocka_unit_test(test_clock),
    };

    return cmocka_run_group_tests_name("util", tests, NULL, NULL);
}
