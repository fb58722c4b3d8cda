/* Hash tables: keys that collide in a hash without a key do not make chains long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/hash.h"

#define NAMES 40000
/* A hash without a key uses one bucket in 256: its chains have more than 1,000 names. */
#define COLLIDING_BITS 8
/* A bucket has ten names on average at most; 60 in one bucket have a probability below 1e-20. */
#define LONGEST_CHAIN 60

struct named {
    UT_hash_handle hh;
    char name[24];
};

static unsigned jenkins(const char *text, unsigned len) {
    unsigned hash;

    HASH_JEN(text, len, hash);
    return hash;
}

/* The next name of a series whose hash without a key ends with zeros. */
static void next_name(char *out, size_t size, unsigned *at) {
    do
        snprintf(out, size, "q%x", (*at)++);
    while ((jenkins(out, (unsigned)strlen(out)) & ((1U << COLLIDING_BITS) - 1)) != 0);
}

static unsigned longest_chain(const struct named *table) {
    unsigned longest = 0;

    for (unsigned i = 0; i < table->hh.tbl->num_buckets; i++)
        if (table->hh.tbl->buckets[i].count > longest)
            longest = table->hh.tbl->buckets[i].count;
    return longest;
}

static void test_colliding_names(void **state) {
    struct named *table = NULL, *n, *next;
    unsigned at = 0;

    (void)state;
    for (int i = 0; i < NAMES; i++) {
        n = xcalloc(1, sizeof *n);
        next_name(n->name, sizeof n->name, &at);
        HASH_ADD_STR(table, name, n);
        assert_true(i % 1000 != 0 || longest_chain(table) <= LONGEST_CHAIN);
    }
    assert_int_equal(HASH_COUNT(table), NAMES);
    assert_true(longest_chain(table) <= LONGEST_CHAIN);
    HASH_ITER(hh, table, n, next) {
        HASH_DEL(table, n);
        free(n);
    }
}

/* The hash is of all bytes, and the same for the same bytes wherever they lie. */
static void test_hash(void **state) {
    char text[] = "a queue's name", copy[sizeof text + 1];

    (void)state;
    memcpy(copy + 1, text, sizeof text);
    assert_int_equal(hash_bytes(text, sizeof text), hash_bytes(copy + 1, sizeof text));
    assert_int_not_equal(hash_bytes(text, 5), hash_bytes(text, 6));
    assert_int_equal(hash_bytes("", 0), hash_bytes(text, 0));
}

/* The expected hashes were computed by an independent program. */
static void test_known_hashes(void **state) {
    static const uint64_t zero[2] = { 0, 0 };
    static const struct {
        const char *text;
        unsigned hash;
    } known[] = {
        { "q", 0x3e64f162 },         { "abcd", 0xd52aae89 },           { "abcdefgh", 0x0b8e35ea },
        { "abcdefghi", 0xd11eb6e5 }, { "a queue's name", 0x3bf14711 },
    };

    (void)state;
    hash_set_key(zero);
    for (size_t i = 0; i < LENGTH(known); i++)
        assert_int_equal(hash_bytes(known[i].text, strlen(known[i].text)), known[i].hash);
}

/* Numbers are hashed in place, and as all other bytes. */
static void test_numbers(void **state) {
    uint64_t number = UINT64_C(0x0123456789abcdef);
    uint32_t half = 0x89abcdef;
    uint16_t quarter = 0xcdef;

    (void)state;
    assert_int_equal(hash_key(&number, sizeof number), hash_bytes(&number, sizeof number));
    assert_int_equal(hash_key(&half, sizeof half), hash_bytes(&half, sizeof half));
    assert_int_equal(hash_key(&quarter, sizeof quarter), hash_bytes(&quarter, sizeof quarter));
    assert_int_not_equal(hash_key(&half, sizeof half), hash_key(&quarter, sizeof quarter));
}

#define MANY_NAMES 100000

/* With any names no part is much larger than the average, so that a table in parts moves few entries at a time. */
static void test_parts(void **state) {
    static struct named *parts[HASH_PARTS], many[MANY_NAMES];
    struct named *found;
    unsigned count = 0;

    (void)state;
    for (int i = 0; i < MANY_NAMES; i++) {
        snprintf(many[i].name, sizeof many[i].name, "n%d", i);
        PARTS_ADD(hh, parts, many[i].name, strlen(many[i].name), &many[i]);
    }
    for (int i = 0; i < HASH_PARTS; i++) {
        assert_in_range(HASH_COUNT(parts[i]), MANY_NAMES / HASH_PARTS / 2, MANY_NAMES / HASH_PARTS * 2);
        count += HASH_COUNT(parts[i]);
    }
    assert_int_equal(count, MANY_NAMES);
    for (int i = 0; i < MANY_NAMES; i++) {
        PARTS_FIND(hh, parts, many[i].name, strlen(many[i].name), found);
        assert_ptr_equal(found, &many[i]);
        PARTS_DELETE(hh, parts, found);
        PARTS_FIND(hh, parts, many[i].name, strlen(many[i].name), found);
        assert_null(found);
    }
    for (int i = 0; i < HASH_PARTS; i++)
        assert_null(parts[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_colliding_names), cmocka_unit_test(test_hash),  cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_known_hashes),    cmocka_unit_test(test_parts),
    };

    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
