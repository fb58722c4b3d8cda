/* The heap of things that are due. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/heap.h"

#define ITEMS 300

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* The earliest of the items that are in the heap, found the slow way. */
static const struct heap_item *earliest(const struct heap_item *items) {
    const struct heap_item *first = NULL;

    for (size_t i = 0; i < ITEMS; i++) {
        if (heap_has(&items[i]) && (first == NULL || items[i].due < first->due))
            first = &items[i];
    }
    return first;
}

static void check_against_model(const struct heap *h, const struct heap_item *items, size_t expected) {
    const struct heap_item *first = earliest(items);

    assert_int_equal(h->count, expected);
    for (size_t i = 0; i < h->count; i++) {
        assert_int_equal(h->items[i]->place, i + 1);
        assert_true(i == 0 || h->items[(i - 1) / 2]->due <= h->items[i]->due);
    }
    if (first == NULL)
        assert_null(heap_first(h));
    else
        assert_int_equal(heap_first(h)->due, first->due);
}

static void test_random_changes(void **state) {
    struct heap_item items[ITEMS] = { 0 };
    struct heap h = { 0 };
    uint64_t seed = 20201;
    size_t count = 0;

    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int step = 0; step < 10000; step++) {
        struct heap_item *item = &items[next_random(&seed) % ITEMS];
        bool had = heap_has(item);

        if (next_random(&seed) % 3 == 0) {
            heap_remove(&h, item);
            count -= had;
            assert_false(heap_has(item));
        } else {
            heap_set(&h, item, (int64_t)(next_random(&seed) % 500) - 250);
            count += !had;
            assert_true(heap_has(item));
        }
        check_against_model(&h, items, count);
    }
    heap_free(&h);
    for (size_t i = 0; i < ITEMS; i++)
        assert_false(heap_has(&items[i]));
}

static void test_sorts(void **state) {
    struct heap_item items[ITEMS] = { 0 };
    struct heap h = { 0 };
    int64_t last = INT64_MIN;

    (void)state;
    for (int i = 0; i < ITEMS; i++)
        heap_set(&h, &items[i], (i * 7919) % ITEMS);
    for (int i = 0; i < ITEMS; i++) {
        struct heap_item *first = heap_first(&h);

        assert_true(first->due > last);
        last = first->due;
        heap_remove(&h, first);
    }
    assert_null(heap_first(&h));
    heap_free(&h);
}

static void test_moves(void **state) {
    struct heap_item a = { 0 }, b = { 0 };
    struct heap h = { 0 };

    (void)state;
    heap_remove(&h, &a);
    heap_set(&h, &a, INT64_MAX);
    heap_set(&h, &b, 10);
    assert_ptr_equal(heap_first(&h), &b);
    heap_set(&h, &a, INT64_MIN);
    assert_ptr_equal(heap_first(&h), &a);
    heap_set(&h, &a, 11);
    assert_ptr_equal(heap_first(&h), &b);
    assert_int_equal(h.count, 2);
    heap_remove(&h, &b);
    heap_remove(&h, &b);
    assert_ptr_equal(heap_first(&h), &a);
    heap_free(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_changes),
        cmocka_unit_test(test_sorts),
        cmocka_unit_test(test_moves),
    };

    return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
