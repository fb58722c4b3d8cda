/* The ids of jobs, and the IDs that clients see. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/job_key.h"

#define NODE "dcb833cf00000000000000000000000000000000"
#define DAY 86400
#define US_OF_MS(ms) ((JOBID_EPOCH_MS + (ms)) * 1000)

static const unsigned char secret[JOBID_SECRET_LEN] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
};

static int use_secret(void **state) {
    (void)state;
    jobid_set_secret(secret);
    return 0;
}

static struct slice id_text(const char *text) {
    return (struct slice){ text, JOBID_LEN };
}

/* The expected texts were computed by an independent program. */
static void test_known_ids(void **state) {
    static const struct known {
        struct job_key key;
        const char *node;
        int64_t ttl;
        bool retried;
        const char *text;
    } known[] = {
        { { 1234, -9, INT64_C(889876958928719949) },
          NODE,
          DAY,
          true,
          "D-dcb833cf-roJbEP8bZM7qDJYkW5cDkKiu-05a1" },
        { { 0, 0, 0 }, "00000000", 0, false, "D-00000000-fNh02OgBQPtzy4jGRw2vbZ0L-0000" },
        { { INT32_MAX, -255, INT64_MAX },
          "ffffffff",
          INT64_MAX,
          true,
          "D-ffffffff-ueMeJniaXhc1TvHUSEDtigXu-ffff" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(known); i++) {
        char text[JOBID_LEN];
        struct job_key key;

        jobid_format(text, known[i].key, known[i].node, known[i].ttl, known[i].retried);
        assert_memory_equal(text, known[i].text, JOBID_LEN);
        assert_int_equal(jobid_parse(id_text(text), &key), JOBID_OK);
        assert_int_equal(key.queue_id, known[i].key.queue_id);
        assert_int_equal(key.rank, known[i].key.rank);
        assert_true(key.id == known[i].key.id);
    }
}

/* The module keeps the last ID. A change of any part makes another ID. */
static void test_again(void **state) {
    static const unsigned char other_secret[JOBID_SECRET_LEN] = { 1 };
    static const struct job_key keys[] = { { 7, -3, 99 }, { 8, -3, 99 }, { 7, -4, 99 }, { 7, -3, 98 } };
    char first[JOBID_LEN], text[JOBID_LEN];

    (void)state;
    jobid_format(first, keys[0], NODE, DAY, true);
    jobid_format(text, keys[0], NODE, DAY, true);
    assert_memory_equal(text, first, JOBID_LEN);
    for (size_t i = 1; i < LENGTH(keys); i++) {
        jobid_format(text, keys[i], NODE, DAY, true);
        assert_memory_not_equal(text, first, JOBID_LEN);
        jobid_format(text, keys[0], NODE, DAY, true);
        assert_memory_equal(text, first, JOBID_LEN);
    }
    jobid_format(text, keys[0], "ffffffff", DAY, true);
    assert_memory_equal(text, "D-ffffffff", 10);
    jobid_format(text, keys[0], NODE, DAY, true);
    jobid_format(text, keys[0], NODE, DAY, false);
    assert_memory_equal(text + 36, "05a0", 4);
    jobid_format(text, keys[0], NODE, 240, false);
    assert_memory_equal(text + 36, "0004", 4);
    jobid_format(text, keys[0], NODE, DAY, true);
    jobid_set_secret(other_secret);
    jobid_format(text, keys[0], NODE, DAY, true);
    assert_memory_not_equal(text, first, JOBID_LEN);
    jobid_set_secret(secret);
}

/* Every priority, and IDs with a single bit set: decoding returns the encoded values. */
static void test_round_trip(void **state) {
    char text[JOBID_LEN];
    struct job_key out;

    (void)state;
    for (int i = 0; i < 256; i++) {
        struct job_key key = { .queue_id = 1 << (i % 31), .rank = (int16_t)-i, .id = INT64_C(1) << (i % 63) };

        jobid_format(text, key, NODE, i * 1000, i % 2 == 0);
        assert_int_equal(jobid_parse(id_text(text), &out), JOBID_OK);
        assert_int_equal(out.queue_id, key.queue_id);
        assert_int_equal(out.rank, key.rank);
        assert_true(out.id == key.id);
    }
}

static void test_ttl_digits(void **state) {
    static const struct ttl {
        int64_t seconds;
        const char *retried;
        const char *once;
    } ttls[] = {
        { -5, "0001", "0000" },      { 0, "0001", "0000" },       { 1, "0001", "0000" },
        { 119, "0001", "0000" },     { 120, "0003", "0002" },     { 239, "0003", "0002" },
        { 240, "0005", "0004" },     { DAY, "05a1", "05a0" },     { 3932039, "fffd", "fffc" },
        { 3932040, "ffff", "fffe" }, { 9999999, "ffff", "fffe" }, { INT64_C(1) << 40, "ffff", "fffe" },
    };
    char text[JOBID_LEN];

    (void)state;
    for (size_t i = 0; i < LENGTH(ttls); i++) {
        jobid_format(text, (struct job_key){ 1, 0, 1 }, NODE, ttls[i].seconds, true);
        assert_memory_equal(text + 36, ttls[i].retried, 4);
        jobid_format(text, (struct job_key){ 1, 0, 1 }, NODE, ttls[i].seconds, false);
        assert_memory_equal(text + 36, ttls[i].once, 4);
    }
}

/* A change of any character of an ID makes it invalid. */
static void test_forged(void **state) {
    char good[JOBID_LEN], text[JOBID_LEN];
    struct job_key key;

    (void)state;
    jobid_format(good, (struct job_key){ 77, -3, 123456789 }, NODE, DAY, true);
    for (int at = 0; at < JOBID_LEN; at++) {
        bool frame = at < 2 || at == 10 || at == 35;

        for (int c = 0; c < 256; c++) {
            memcpy(text, good, JOBID_LEN);
            text[at] = (char)c;
            if (text[at] == good[at])
                continue;
            assert_int_equal(jobid_parse(id_text(text), &key), frame ? JOBID_BAD : JOBID_UNKNOWN);
        }
    }
}

static void test_tokens(void **state) {
    static const struct {
        const char *behind;
        enum jobid_check check;
        int64_t token;
    } cases[] = {
        { "", JOBID_OK, 0 },
        { ":1", JOBID_OK, 1 },
        { ":4294967297", JOBID_OK, INT64_C(4294967297) },
        { ":9223372036854775807", JOBID_OK, INT64_MAX },
        { ":9223372036854775808", JOBID_BAD, 0 },
        { ":", JOBID_BAD, 0 },
        { ":0", JOBID_BAD, 0 },
        { ":-1", JOBID_BAD, 0 },
        { ":+1", JOBID_BAD, 0 },
        { ":01", JOBID_BAD, 0 },
        { ": 1", JOBID_BAD, 0 },
        { ":1 ", JOBID_BAD, 0 },
        { ":1:", JOBID_BAD, 0 },
        { "1", JOBID_BAD, 0 },
        { "x1", JOBID_BAD, 0 },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        size_t len = JOBID_LEN + strlen(cases[i].behind);
        char *text = malloc(len + 1);
        struct job_key key = { 0 };
        int64_t token;

        assert_non_null(text);
        jobid_format(text, (struct job_key){ 7, -3, 123456789 }, NODE, DAY, true);
        memcpy(text + JOBID_LEN, cases[i].behind, len - JOBID_LEN);
        assert_int_equal(jobid_parse_token((struct slice){ text, len }, &key, &token), cases[i].check);
        if (cases[i].check == JOBID_OK) {
            assert_true(token == cases[i].token);
            assert_int_equal(key.queue_id, 7);
            assert_int_equal(key.rank, -3);
            assert_true(key.id == 123456789);
        }
        text[0] = 'd';
        assert_int_equal(jobid_parse_token((struct slice){ text, len }, &key, &token), JOBID_BAD);
        text[0] = 'D';
        text[JOBID_LEN - 1] ^= 1;
        if (cases[i].check == JOBID_OK)
            assert_int_equal(jobid_parse_token((struct slice){ text, len }, &key, &token), JOBID_UNKNOWN);
        free(text);
    }
}

static void test_wrong_length(void **state) {
    char text[JOBID_LEN + 1];
    struct job_key key;

    (void)state;
    jobid_format(text, (struct job_key){ 1, 0, 1 }, NODE, DAY, true);
    text[JOBID_LEN] = 'x';
    for (size_t len = 0; len <= JOBID_LEN + 1; len++) {
        /* In memory of its exact size, so that the sanitizer sees every byte too far. */
        char *copy = malloc(len == 0 ? 1 : len);

        assert_non_null(copy);
        memcpy(copy, text, len);
        assert_int_equal(jobid_parse((struct slice){ copy, len }, &key),
                         len == JOBID_LEN ? JOBID_OK : JOBID_BAD);
        free(copy);
    }
    assert_int_equal(jobid_parse((struct slice){ NULL, 0 }, &key), JOBID_BAD);
}

static void test_other_secret(void **state) {
    unsigned char other[JOBID_SECRET_LEN];
    char text[JOBID_LEN];
    struct job_key key;

    (void)state;
    jobid_format(text, (struct job_key){ 1, 0, 1 }, NODE, DAY, true);
    memcpy(other, secret, sizeof(other));
    other[15] ^= 1;
    jobid_set_secret(other);
    assert_int_equal(jobid_parse(id_text(text), &key), JOBID_UNKNOWN);
    jobid_set_secret(secret);
    assert_int_equal(jobid_parse(id_text(text), &key), JOBID_OK);
}

static void test_parts_of_an_id(void **state) {
    int64_t id = job_new_id(US_OF_MS(1000000) + 999, 1023);

    (void)state;
    assert_true(id == (INT64_C(1000000) << 22 | 1023 << 12));
    assert_true(job_created_us(id) == US_OF_MS(1000000));
    assert_int_equal(job_id_node(id), 1023);
    assert_int_equal(job_id_counter(id), 0);
    assert_true(job_id_last() == id);
    id = job_new_id(US_OF_MS(1000000), 1023);
    assert_int_equal(job_id_counter(id), 1);
    assert_true(job_created_us(id) == US_OF_MS(1000000));
}

/* Makes count ids at a clock that stands still and checks that they grow. */
static void make_many(int64_t at_us, uint16_t node, int count) {
    for (int i = 0; i < count; i++) {
        int64_t before = job_id_last(), id = job_new_id(at_us, node);

        assert_true(id > before);
        assert_int_equal(job_id_node(id), node);
    }
}

static void test_counter_overflow(void **state) {
    (void)state;
    make_many(US_OF_MS(2000000), 7, 4096);
    assert_true(job_created_us(job_id_last()) == US_OF_MS(2000000));
    assert_int_equal(job_id_counter(job_id_last()), 4095);
    make_many(US_OF_MS(2000000), 7, 1);
    assert_true(job_created_us(job_id_last()) == US_OF_MS(2000001));
    assert_int_equal(job_id_counter(job_id_last()), 0);
    make_many(US_OF_MS(2000000), 7, 20000);
    assert_true(job_created_us(job_id_last()) == US_OF_MS(2000005));
    /* When time has caught up, ids follow it again. */
    make_many(US_OF_MS(2000006), 7, 1);
    assert_true(job_created_us(job_id_last()) == US_OF_MS(2000006));
}

static void test_clock_steps_back(void **state) {
    (void)state;
    make_many(US_OF_MS(3000000), 7, 10);
    make_many(US_OF_MS(2500000), 7, 10);
    make_many(0, 7, 1);
    make_many(INT64_MIN / 2, 7, 1);
    assert_true(job_created_us(job_id_last()) == US_OF_MS(3000000));
    assert_int_equal(job_id_counter(job_id_last()), 21);
}

static void test_node_number_changes(void **state) {
    (void)state;
    make_many(US_OF_MS(4000000), 500, 10);
    make_many(US_OF_MS(4000000), 3, 10);
    make_many(US_OF_MS(4000000), 900, 5000);
    make_many(US_OF_MS(4000000), 1, 5000);
}

/* 41 bits of milliseconds last until 2089, and the sign bit stays clear. */
static void test_far_future(void **state) {
    int64_t id = job_new_id(US_OF_MS((INT64_C(1) << 41) - 1), 1023);

    (void)state;
    assert_true(id > 0);
    assert_true(job_created_us(id) == US_OF_MS((INT64_C(1) << 41) - 1));
}

static void test_delivery_order(void **state) {
    struct job_key first = { 1, -5, 20 }, second = { 1, 0, 10 }, third = { 1, 0, 11 };

    (void)state;
    assert_true(job_key_before(first, second));
    assert_true(job_key_before(second, third));
    assert_false(job_key_before(third, second));
    assert_false(job_key_before(third, third));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_known_ids, use_secret),
        cmocka_unit_test_setup(test_again, use_secret),
        cmocka_unit_test_setup(test_round_trip, use_secret),
        cmocka_unit_test_setup(test_ttl_digits, use_secret),
        cmocka_unit_test_setup(test_forged, use_secret),
        cmocka_unit_test_setup(test_tokens, use_secret),
        cmocka_unit_test_setup(test_wrong_length, use_secret),
        cmocka_unit_test_setup(test_other_secret, use_secret),
        /* These use the IDs of the tests before them. */
        cmocka_unit_test(test_parts_of_an_id),
        cmocka_unit_test(test_counter_overflow),
        cmocka_unit_test(test_clock_steps_back),
        cmocka_unit_test(test_node_number_changes),
        cmocka_unit_test(test_far_future),
        cmocka_unit_test(test_delivery_order),
    };

    return cmocka_run_group_tests_name("jobid", tests, NULL, NULL);
}
