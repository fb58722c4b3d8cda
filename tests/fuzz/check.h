#ifndef FUZZ_CHECK_H
#define FUZZ_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The entry point of every target of this folder, and its only exit for a finding. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(holds)                                                            \
    do {                                                                          \
        if (!(holds)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #holds); \
            abort();                                                              \
        }                                                                         \
    } while (0)

#endif
