/* Freed memory returns to the system. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "config/memory_budget.h"

#define BLOCKS ((size_t)100000)
#define BLOCK_BYTES ((size_t)1000)

static char *blocks[BLOCKS];

static size_t resident(void) {
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long size, pages;

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu %lu", &size, &pages), 2);
    fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void allocate_all(void) {
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK_BYTES);
        memset(blocks[i], 'x', BLOCK_BYTES);
        memory_change(NULL, MEMORY_REQUESTS, 0, BLOCK_BYTES);
    }
}

static void free_one(size_t i) {
    free(blocks[i]);
    memory_change(NULL, MEMORY_REQUESTS, BLOCK_BYTES, 0);
}

/* The last block stays, so that the heap cannot shrink at its end. */
static void test_free_memory_returns(void **state) {
    size_t most;

    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    memory_init();
    memory_return_free();
    allocate_all();
    memory_return_free();
    most = resident();
    for (size_t i = 0; i + 1 < BLOCKS; i++)
        free_one(i);
    assert_true(resident() > most - BLOCKS * BLOCK_BYTES / 4);
    memory_return_free();
    assert_true(resident() < most - BLOCKS * BLOCK_BYTES * 3 / 4);
    free_one(BLOCKS - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_free_memory_returns),
    };

    return cmocka_run_group_tests_name("memory budget", tests, NULL, NULL);
}
