/* Names and bodies that are known byte by byte, and random numbers that can be had again. */
#include "generator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 16

static uint64_t state;
static uint64_t tokens;

static uint64_t mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

void generator_seed(uint64_t seed) {
    state = seed;
}

uint32_t generator_random(uint32_t n) {
    state += UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((mix(state) >> 32) % n);
}

bool generator_one_in(uint32_t n) {
    return generator_random(n) == 0;
}

int generator_between(int low, int high) {
    return low + (int)generator_random((uint32_t)(high - low + 1));
}

struct slice generator_name(int queue) {
    static char names[BOOKS_QUEUES_MOST][24];
    static const char *const forms[] = { "queue %d", "q\xff\xfe%d", "\"'; %d", "q%d" };
    char *name = names[queue];
    int len = snprintf(name, sizeof names[0], forms[queue % 4], queue);

    /* A NUL in some. */
    if (queue % 8 == 1)
        name[1] = '\0';
    return (struct slice){ name, (size_t)len };
}

int generator_queue(const char *name, size_t len) {
    for (int i = 0; i < BOOKS_QUEUES_MOST; i++)
        if (slice_equal(generator_name(i), (struct slice){ name, len }))
            return i;
    return -1;
}

uint64_t generator_new_token(void) {
    return ++tokens;
}

/* Mostly a short size. One body of 500 is long enough for out-of-line storage. */
static size_t filler_size(uint64_t random) {
    return random % 500 == 0 ? 60000 : random % 500 == 1 ? 0 : 16 + random % 200;
}

static size_t make_body(uint64_t token, char *out) {
    uint64_t random = mix(token ^ UINT64_C(0x5eed));
    size_t size = filler_size(random >> 8);

    snprintf(out, DIGITS + 1, "%0*llu", DIGITS, (unsigned long long)token);
    for (size_t i = 0; i < size; i++) {
        if (i % 8 == 0)
            random = mix(random);
        out[DIGITS + i] = (char)(random >> (i % 8 * 8));
    }
    return DIGITS + size;
}

struct slice generator_body(uint64_t token) {
    static char bytes[BOOKS_BODY_MOST];

    return (struct slice){ bytes, make_body(token, bytes) };
}

long long generator_token(const char *body, size_t len) {
    static char expected[BOOKS_BODY_MOST];
    char digits[DIGITS + 1] = { 0 };
    uint64_t token;

    if (len < DIGITS)
        return -1;
    memcpy(digits, body, DIGITS);
    token = strtoull(digits, NULL, 10);
    if (token == 0 || token > tokens || make_body(token, expected) != len || memcmp(expected, body, len) != 0)
        return -1;
    return (long long)token;
}
