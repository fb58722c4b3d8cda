#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Numbers for tests that try many orders of events. They are the same in every run; another
 * run of numbers is had with PGDISQUE_TEST_SEED. The seed is printed, to be there when a
 * test fails.
 */
static uint64_t random_state;

static inline void random_start(uint64_t seed) {
    const char *wanted = getenv("PGDISQUE_TEST_SEED");

    random_state = wanted != NULL ? strtoull(wanted, NULL, 10) : seed;
    if (random_state == 0)
        random_state = 1;
    printf("# seed %llu\n", (unsigned long long)random_state);
    fflush(stdout);
}

/* From 0 to below - 1. */
static inline uint64_t random_below(uint64_t below) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % below;
}

#endif
