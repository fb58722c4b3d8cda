/* Hash tables: keys that collide in a hash without a key do not make chains long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "hash.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_colliding_names),
        cmocka_unit_test(test_hash),
    };

    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
