/* Parameters and results of statements, byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <libpq-fe.h>
#include "pg/params.h"

/* Microseconds from 1970 to 2000, where Postgres counts from. */
#define EPOCH INT64_C(946684800000000)
/* An array as written in hex: one dimension, flag, element type, length, lower bound 1. */
#define ARRAY(nulls, oid, count) "\0\0\0\x01\0\0\0" nulls "\0\0" oid "\0\0" count "\0\0\0\x01"
#define INT2 "\0\x15"
#define TID "\0\x1b"
#define INT4 "\0\x17"
#define INT8 "\0\x14"
#define BYTEA "\0\x11"
#define TIMESTAMPTZ "\x04\xa0"
#define NONE "\0"
#define SOME "\x01"

struct wire {
    const char *values[PARAMS_MAX];
    int lengths[PARAMS_MAX];
    int formats[PARAMS_MAX];
};

static struct params p;
static struct wire wire;

static int start_empty(void **state) {
    (void)state;
    memset(&p, 0, sizeof p);
    memset(&wire, 0, sizeof wire);
    return 0;
}

static int finish_empty(void **state) {
    (void)state;
    params_free(&p);
    return 0;
}

static void assert_param_is(int col, const char *bytes, size_t len) {
    assert_int_equal(wire.formats[col], 1);
    assert_int_equal(wire.lengths[col], len);
    assert_non_null(wire.values[col]);
    assert_memory_equal(wire.values[col], bytes, len);
}

#define assert_param(col, literal) assert_param_is(col, literal, sizeof(literal) - 1)

static void finish(void) {
    params_finish(&p, wire.values, wire.lengths, wire.formats);
}

/* ---- arrays ---- */

static void test_integers(void **state) {
    (void)state;
    params_int2(&p, 0, 1);
    params_int2(&p, 0, INT16_MIN);
    params_int4(&p, 1, -2);
    params_int4(&p, 1, INT32_MAX);
    params_int4(&p, 1, 0x01020304);
    params_int8(&p, 2, INT64_C(0x0102030405060708));
    params_int8(&p, 2, INT64_MIN);
    finish();
    assert_int_equal(p.columns, 3);
    assert_param(0, ARRAY(NONE, INT2, "\0\x02") "\0\0\0\x02\0\x01"
                                                "\0\0\0\x02\x80\0");
    assert_param(1, ARRAY(NONE, INT4, "\0\x03") "\0\0\0\x04\xff\xff\xff\xfe"
                                                "\0\0\0\x04\x7f\xff\xff\xff"
                                                "\0\0\0\x04\x01\x02\x03\x04");
    assert_param(2, ARRAY(NONE, INT8, "\0\x02") "\0\0\0\x08\x01\x02\x03\x04\x05\x06\x07\x08"
                                                "\0\0\0\x08\x80\0\0\0\0\0\0\0");
}

static void test_times(void **state) {
    (void)state;
    params_time(&p, 0, EPOCH + 1);
    params_time(&p, 0, 0);
    params_time(&p, 0, TIME_NEVER);
    params_time(&p, 0, TIME_BEGINNING);
    finish();
    assert_param(0, ARRAY(NONE, TIMESTAMPTZ, "\0\x04") "\0\0\0\x08\0\0\0\0\0\0\0\x01"
                                                       "\0\0\0\x08\xff\xfc\xa2\xfe\xc4\xc8\x20\0"
                                                       "\0\0\0\x08\x7f\xff\xff\xff\xff\xff\xff\xff"
                                                       "\0\0\0\x08\x80\0\0\0\0\0\0\0");
}

static void test_bytes(void **state) {
    (void)state;
    params_bytea(&p, 0, SLICE("a\0b\xff"));
    params_bytea(&p, 0, SLICE(""));
    params_bytea(&p, 0, SLICE("z"));
    finish();
    assert_param(0, ARRAY(NONE, BYTEA, "\0\x03") "\0\0\0\x04"
                                                 "a\0b\xff"
                                                 "\0\0\0\0"
                                                 "\0\0\0\x01"
                                                 "z");
}

static void test_nulls(void **state) {
    (void)state;
    params_null(&p, 0, PARAM_TIME);
    params_time(&p, 0, EPOCH);
    params_int2(&p, 1, 7);
    params_null(&p, 1, PARAM_INT2);
    params_null(&p, 2, PARAM_INT2);
    finish();
    assert_param(0, ARRAY(SOME, TIMESTAMPTZ, "\0\x02") "\xff\xff\xff\xff\0\0\0\x08\0\0\0\0\0\0\0\0");
    assert_param(1, ARRAY(SOME, INT2, "\0\x02") "\0\0\0\x02\0\x07\xff\xff\xff\xff");
    assert_param(2, ARRAY(SOME, INT2, "\0\x01") "\xff\xff\xff\xff");
}

static void test_empty_array(void **state) {
    (void)state;
    params_ensure_int4_array(&p, 0);
    params_int4(&p, 1, 5);
    params_ensure_int4_array(&p, 1);
    finish();
    assert_param(0, ARRAY(NONE, INT4, "\0\0"));
    assert_param(1, ARRAY(NONE, INT4, "\0\x01") "\0\0\0\x04\0\0\0\x05");
}

/* The arrays of one row become its values. Scalars stay. */
static void test_single_row(void **state) {
    (void)state;
    params_int4(&p, 0, 5);
    params_bytea(&p, 1, SLICE("a\0b"));
    params_bytea(&p, 2, SLICE(""));
    params_null(&p, 3, PARAM_TIME);
    params_set_int2(&p, 4, 7);
    assert_true(params_are_single(&p));
    params_make_single(&p);
    finish();
    assert_param(0, "\0\0\0\x05");
    assert_param(1, "a\0b");
    assert_param(2, "");
    assert_null(wire.values[3]);
    assert_param(4, "\0\x07");
    params_reset(&p);
    params_int4(&p, 0, 6);
    finish();
    assert_param(0, ARRAY(NONE, INT4, "\0\x01") "\0\0\0\x04\0\0\0\x06");
}

static void test_no_single_row(void **state) {
    (void)state;
    params_ensure_int4_array(&p, 0);
    assert_false(params_are_single(&p));
    params_int4(&p, 0, 5);
    params_int4(&p, 1, 5);
    assert_true(params_are_single(&p));
    params_int4(&p, 1, 5);
    assert_false(params_are_single(&p));
}

/* The columns of a statement need not be filled in order, nor evenly. */
static void test_columns_in_any_order(void **state) {
    (void)state;
    params_int2(&p, PARAMS_MAX - 1, 3);
    params_set_bool(&p, 4, true);
    finish();
    assert_int_equal(p.columns, PARAMS_MAX);
    assert_param(PARAMS_MAX - 1, ARRAY(NONE, INT2, "\0\x01") "\0\0\0\x02\0\x03");
    assert_param(4, "\x01");
    assert_param(0, "");
}

static void at_the_end(void) {
    params_set_int8(&p, PARAMS_MAX - 1, 1);
}

static void element_too_many(void) {
    params_int8(&p, PARAMS_MAX, 1);
}

static void scalar_too_many(void) {
    params_set_text(&p, PARAMS_MAX, "x");
}

static void null_too_many(void) {
    params_set_null(&p, PARAMS_MAX);
}

static void before_the_first(void) {
    params_int4(&p, -1, 1);
}

/* The exit status of a process that does that. */
static int status_of(void (*work)(void)) {
    pid_t pid;
    int status;

    fflush(stdout);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        work();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A parameter above the maximum ends the process at once. */
static void test_a_column_too_many(void **state) {
    (void)state;
    assert_int_equal(status_of(at_the_end), 0);
    assert_int_equal(status_of(element_too_many), 1);
    assert_int_equal(status_of(scalar_too_many), 1);
    assert_int_equal(status_of(null_too_many), 1);
    assert_int_equal(status_of(before_the_first), 1);
}

/* Every element must be where its length says, however often the memory moved. */
static void test_many_elements(void **state) {
    const int count = 70000;
    const unsigned char *at;

    (void)state;
    for (int i = 0; i < count; i++) {
        params_int4(&p, 0, i);
        params_bytea(&p, 1, (struct slice){ "abcdefgh", (size_t)(i % 9) });
    }
    finish();
    assert_int_equal(wire.lengths[0], 20 + 8 * count);
    assert_memory_equal(wire.values[0], ARRAY(NONE, INT4, "\0\0"), 12);
    assert_memory_equal(wire.values[0] + 12, "\0\x01\x11\x70", 4);
    at = (const unsigned char *)wire.values[0] + 20 + 8 * 69999;
    assert_memory_equal(at, "\0\0\0\x04\0\x01\x11\x6f", 8);
    at = (const unsigned char *)wire.values[1] + 20;
    for (int i = 0; i < count; i++) {
        assert_int_equal(at[3], i % 9);
        assert_memory_equal(at + 4, "abcdefgh", (size_t)at[3]);
        at += 4 + at[3];
    }
    assert_ptr_equal(at, wire.values[1] + wire.lengths[1]);
}

static void test_big_element(void **state) {
    size_t len = (size_t)20 * 1024 * 1024 + 3;
    char *body = malloc(len);

    (void)state;
    for (size_t i = 0; i < len; i++)
        body[i] = (char)(i * 31);
    params_bytea(&p, 0, (struct slice){ body, len });
    params_bytea(&p, 0, SLICE("end"));
    finish();
    assert_int_equal(wire.lengths[0], 20 + 4 + len + 4 + 3);
    assert_memory_equal(wire.values[0] + 20, "\x01\x40\0\x03", 4);
    assert_memory_equal(wire.values[0] + 24, body, len);
    assert_memory_equal(wire.values[0] + 24 + len,
                        "\0\0\0\x03"
                        "end",
                        7);
    free(body);
}

/* ---- scalars ---- */

static void test_scalars(void **state) {
    (void)state;
    params_set_int2(&p, 0, -3);
    params_set_int4(&p, 1, 0x0a0b0c0d);
    params_set_int8(&p, 2, INT64_MAX);
    params_set_bool(&p, 3, false);
    params_set_time(&p, 4, EPOCH - 1);
    params_set_time(&p, 5, TIME_NEVER);
    params_set_text(&p, 6, "pgdisque");
    params_set_text(&p, 7, "");
    finish();
    assert_int_equal(p.columns, 8);
    assert_param(0, "\xff\xfd");
    assert_param(1, "\x0a\x0b\x0c\x0d");
    assert_param(2, "\x7f\xff\xff\xff\xff\xff\xff\xff");
    assert_param(3, "\0");
    assert_param(4, "\xff\xff\xff\xff\xff\xff\xff\xff");
    assert_param(5, "\x7f\xff\xff\xff\xff\xff\xff\xff");
    assert_param(6, "pgdisque");
    assert_param(7, "");
}

/* NULL differs from an empty value, and holds only until the next statement. */
static void test_null_scalar(void **state) {
    (void)state;
    params_set_int4(&p, 0, 7);
    params_set_null(&p, 1);
    params_set_text(&p, 2, "");
    finish();
    assert_int_equal(p.columns, 3);
    assert_param(0, "\0\0\0\x07");
    assert_null(wire.values[1]);
    assert_param(2, "");
    params_reset(&p);
    params_set_int2(&p, 0, 1);
    params_set_int2(&p, 1, 2);
    finish();
    assert_param(0, "\0\x01");
    assert_param(1, "\0\x02");
}

static void test_scalar_is_set_once(void **state) {
    (void)state;
    params_set_text(&p, 0, "a long one");
    params_set_text(&p, 0, "short");
    params_set_int8(&p, 1, 1);
    params_set_bool(&p, 1, true);
    finish();
    assert_param(0, "short");
    assert_param(1, "\x01");
}

/* ---- from statement to statement ---- */

static void test_reset(void **state) {
    (void)state;
    params_null(&p, 0, PARAM_TIME);
    params_int4(&p, 1, 1);
    params_bytea(&p, 2, SLICE("x"));
    p.rows = 17;
    finish();
    params_reset(&p);
    assert_int_equal(p.columns, 0);
    assert_int_equal(p.rows, 0);
    params_int8(&p, 0, 2);
    params_set_bool(&p, 1, true);
    finish();
    assert_int_equal(p.columns, 2);
    assert_param(0, ARRAY(NONE, INT8, "\0\x01") "\0\0\0\x08\0\0\0\0\0\0\0\x02");
    assert_param(1, "\x01");
}

static void test_memory(void **state) {
    size_t len = (size_t)2 * 1024 * 1024;
    char *body = calloc(1, len);
    const char *kept;

    (void)state;
    params_int4(&p, 0, 1);
    params_bytea(&p, 1, (struct slice){ body, len });
    kept = p.column[0].bytes.data;
    params_reset(&p);
    assert_ptr_equal(p.column[0].bytes.data, kept);
    assert_int_equal(p.column[1].bytes.cap, 0);
    params_int4(&p, 0, 2);
    assert_ptr_equal(p.column[0].bytes.data, kept);
    params_free(&p);
    assert_null(p.column[0].bytes.data);
    free(body);
}

/* ---- results ---- */

#define COLUMNS 6

static PGresult *new_result(void) {
    PGresAttDesc attrs[COLUMNS] = { 0 };
    PGresult *res = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);

    for (int i = 0; i < COLUMNS; i++) {
        attrs[i].name = (char *)"column";
        attrs[i].format = 1;
    }
    assert_true(PQsetResultAttrs(res, COLUMNS, attrs));
    return res;
}

static void set(PGresult *res, int row, int col, struct slice value) {
    assert_true(PQsetvalue(res, row, col, (char *)value.ptr, (int)value.len));
}

static void set_null(PGresult *res, int row, int col) {
    assert_true(PQsetvalue(res, row, col, NULL, -1));
}

static void test_places(void **state) {
    PGresult *res = new_result();

    (void)state;
    params_place(&p, 0, UINT64_C(0x123456780102));
    params_place(&p, 0, UINT64_C(0xffffffff0001));
    finish();
    assert_param(0, ARRAY(NONE, TID, "\0\x02") "\0\0\0\x06"
                                               "\x12\x34\x56\x78\x01\x02"
                                               "\0\0\0\x06"
                                               "\xff\xff\xff\xff\0\x01");
    set(res, 0, 0, SLICE("\x12\x34\x56\x78\x01\x02"));
    set(res, 0, 1, SLICE("\xff\xff\xff\xff\0\x01"));
    assert_true(row_place(res, 0, 0) == UINT64_C(0x123456780102));
    assert_true(row_place(res, 0, 1) == UINT64_C(0xffffffff0001));
    PQclear(res);
}

static void test_rows(void **state) {
    PGresult *res = new_result();

    (void)state;
    set(res, 0, 0, SLICE("\x80\x01"));
    set(res, 0, 1, SLICE("\xff\xff\xff\xfe"));
    set(res, 0, 2, SLICE("\x01\x02\x03\x04\x05\x06\x07\x08"));
    set(res, 0, 3, SLICE("\x01"));
    set(res, 0, 4, SLICE("\0\0\0\0\0\0\0\x05"));
    set(res, 0, 5, SLICE("a\0b"));
    assert_int_equal(row_int2(res, 0, 0), -32767);
    assert_int_equal(row_int4(res, 0, 1), -2);
    assert_true(row_int8(res, 0, 2) == INT64_C(0x0102030405060708));
    assert_true(row_bool(res, 0, 3));
    assert_true(row_time(res, 0, 4) == EPOCH + 5);
    assert_int_equal(row_bytes(res, 0, 5).len, 3);
    assert_memory_equal(row_bytes(res, 0, 5).ptr, "a\0b", 3);
    for (int i = 0; i < COLUMNS; i++)
        assert_false(row_null(res, 0, i));
    PQclear(res);
}

static void test_rows_at_the_limits(void **state) {
    PGresult *res = new_result();

    (void)state;
    for (int row = 0; row < 2; row++)
        for (int i = 0; i < COLUMNS; i++)
            set_null(res, row, i);
    set(res, 1, 2, SLICE("\x80\0\0\0\0\0\0\0"));
    set(res, 1, 3, SLICE("\0"));
    set(res, 1, 4, SLICE("\x7f\xff\xff\xff\xff\xff\xff\xff"));
    set(res, 1, 5, SLICE(""));
    assert_true(row_null(res, 0, 5));
    assert_false(row_null(res, 1, 5));
    assert_true(row_null(res, 1, 0));
    assert_int_equal(row_bytes(res, 1, 5).len, 0);
    assert_false(row_bool(res, 1, 3));
    assert_true(row_int8(res, 1, 2) == INT64_MIN);
    assert_true(row_time(res, 1, 2) == TIME_BEGINNING);
    assert_true(row_time(res, 1, 4) == TIME_NEVER);
    PQclear(res);
}

/* The database returns the values that were sent. */
static void test_there_and_back(void **state) {
    static const int64_t times[] = {
        0, 1, -1, EPOCH, EPOCH - 1, EPOCH + 1, TIME_NEVER, INT64_C(1795000000123456), TIME_BEGINNING
    };
    PGresult *res = new_result();

    (void)state;
    for (size_t i = 0; i < LENGTH(times); i++) {
        params_reset(&p);
        params_set_time(&p, 0, times[i]);
        finish();
        set(res, 0, 4, (struct slice){ wire.values[0], (size_t)wire.lengths[0] });
        assert_true(row_time(res, 0, 4) == times[i]);
    }
    PQclear(res);
}

/* Postgres has later times than 64 bits of microseconds since 1970, and any program can write them. */
static void test_times_out_of_range(void **state) {
    PGresult *res = new_result();

    (void)state;
    set(res, 0, 4, SLICE("\x7f\xff\xff\xff\xff\xff\xff\xfe"));
    assert_true(row_time(res, 0, 4) == TIME_NEVER);
    params_reset(&p);
    params_set_time(&p, 0, TIME_BEGINNING + 1);
    finish();
    set(res, 0, 4, (struct slice){ wire.values[0], (size_t)wire.lengths[0] });
    assert_true(row_time(res, 0, 4) == TIME_BEGINNING);
    PQclear(res);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start_empty, finish_empty)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_integers),
        TEST(test_times),
        TEST(test_bytes),
        TEST(test_places),
        TEST(test_nulls),
        TEST(test_single_row),
        TEST(test_no_single_row),
        TEST(test_empty_array),
        TEST(test_columns_in_any_order),
        TEST(test_a_column_too_many),
        TEST(test_many_elements),
        TEST(test_big_element),
        TEST(test_scalars),
        TEST(test_scalar_is_set_once),
        TEST(test_null_scalar),
        TEST(test_reset),
        TEST(test_memory),
        TEST(test_rows),
        TEST(test_rows_at_the_limits),
        TEST(test_there_and_back),
        TEST(test_times_out_of_range),
    };

    return cmocka_run_group_tests_name("params", tests, NULL, NULL);
}
