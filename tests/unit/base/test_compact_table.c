/* The compact hash table: entries are found, removed and seen at each size, and chains stay short. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/compact_table.h"
#include "base/hash.h"

#define ENTRIES 20000

struct numbered {
    struct compact_link link;
    uint64_t number;
    unsigned seen;
};

static struct numbered entries[ENTRIES];

static struct numbered *numbered_of(struct compact_link *link) {
    return CONTAINER_OF(link, struct numbered, link);
}

static unsigned hash_of(const struct compact_link *link) {
    return hash_key(&CONTAINER_OF(link, struct numbered, link)->number, sizeof(uint64_t));
}

static struct compact_table table;

static struct numbered *find(uint64_t number) {
    for (struct compact_link *l = compact_first(&table, hash_key(&number, sizeof number)); l != NULL;
         l = l->next)
        if (numbered_of(l)->number == number)
            return numbered_of(l);
    return NULL;
}

static void add_number(uint64_t number) {
    entries[number] = (struct numbered){ .number = number };
    compact_add(&table, hash_of(&entries[number].link), &entries[number].link);
}

static void remove_number(uint64_t number) {
    compact_remove(&table, hash_of(&entries[number].link), &entries[number].link);
}

static int start(void **state) {
    (void)state;
    table = (struct compact_table){ .hash_of = hash_of };
    return 0;
}

static int stop(void **state) {
    (void)state;
    free(table.heads);
    return 0;
}

static void test_empty(void **state) {
    (void)state;
    assert_null(find(7));
    add_number(7);
    remove_number(7);
    assert_null(find(7));
    assert_int_equal(table.count, 0);
}

/* The table grows by one chain at a time, so each size is one that it can have. */
static void test_each_size(void **state) {
    (void)state;
    for (uint64_t n = 0; n < 600; n++) {
        add_number(n);
        assert_int_equal(table.count, n + 1);
        for (uint64_t i = 0; i <= n; i++)
            assert_ptr_equal(find(i), &entries[i]);
        assert_null(find(n + 1));
    }
}

static size_t longest_chain(void) {
    size_t longest = 0;

    for (size_t i = 0; i < table.chains; i++) {
        size_t len = 0;

        for (const struct compact_link *l = table.heads[i]; l != NULL; l = l->next)
            len++;
        longest = len > longest ? len : longest;
    }
    return longest;
}

/* A chain has at most two entries on average. More than 30 in one chain have a probability below 1e-20. */
static void test_chains(void **state) {
    (void)state;
    for (uint64_t n = 0; n < ENTRIES; n++) {
        add_number(n);
        if (n % 1000 == 999)
            assert_in_range(longest_chain(), 1, 30);
    }
    assert_int_equal(table.chains, ENTRIES);
}

static void test_removed(void **state) {
    (void)state;
    for (uint64_t n = 0; n < ENTRIES; n++)
        add_number(n);
    for (uint64_t n = 0; n < ENTRIES; n += 3)
        remove_number(n);
    for (uint64_t n = 0; n < ENTRIES; n++)
        assert_ptr_equal(find(n), n % 3 == 0 ? NULL : &entries[n]);
    for (uint64_t n = 0; n < ENTRIES; n += 3)
        add_number(n);
    for (uint64_t n = 0; n < ENTRIES; n++)
        assert_ptr_equal(find(n), &entries[n]);
    assert_int_equal(table.count, ENTRIES);
}

/* Chains end one by one, so each number of chains is one that the table can have. */
static void test_few_left(void **state) {
    (void)state;
    for (uint64_t n = 0; n < ENTRIES; n++)
        add_number(n);
    for (uint64_t n = 100; n < ENTRIES; n++)
        remove_number(n);
    for (size_t chains = table.chains; table.count < table.chains / 8; chains--) {
        assert_int_equal(table.chains, chains);
        add_number(100);
        for (uint64_t n = 0; n <= 100; n++)
            assert_ptr_equal(find(n), &entries[n]);
        remove_number(100);
    }
    assert_in_range(table.chains, 100, 900);
    for (uint64_t n = 100; n < ENTRIES; n++)
        add_number(n);
    for (uint64_t n = 0; n < ENTRIES; n++)
        assert_ptr_equal(find(n), &entries[n]);
}

static void see_and_remove_even(struct compact_link *link) {
    struct numbered *n = numbered_of(link);

    n->seen++;
    if (n->number % 2 == 0)
        remove_number(n->number);
}

static void test_each(void **state) {
    (void)state;
    compact_each(&table, see_and_remove_even);
    for (uint64_t n = 0; n < ENTRIES; n++)
        add_number(n);
    compact_each(&table, see_and_remove_even);
    for (uint64_t n = 0; n < ENTRIES; n++) {
        assert_int_equal(entries[n].seen, 1);
        assert_ptr_equal(find(n), n % 2 == 0 ? NULL : &entries[n]);
    }
    compact_each(&table, see_and_remove_even);
    for (uint64_t n = 0; n < ENTRIES; n++)
        assert_int_equal(entries[n].seen, n % 2 == 0 ? 1 : 2);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_empty),   TEST(test_each_size), TEST(test_chains),
        TEST(test_removed), TEST(test_few_left),  TEST(test_each),
    };

    return cmocka_run_group_tests_name("compact_table", tests, NULL, NULL);
}
