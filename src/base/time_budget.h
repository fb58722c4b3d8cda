#ifndef TIME_BUDGET_H
#define TIME_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include "base/clock.h"

/*
 * A limit on the time that long work may take in one turn. The work checks its budget after each piece and continues
 * in a later turn when the budget is spent. budget_is_spent() reads the clock at every sixteenth call. Other calls use
 * clock_latest(), which any other clock_mono_now() also moves on.
 */
struct budget {
    int64_t end_us;
    unsigned asked;
};

static inline struct budget budget_of(int64_t us) {
    return (struct budget){ .end_us = clock_mono_now() + us };
}

/* Starts at clock_latest() instead of now: saves a reading of the clock. */
static inline struct budget budget_from_latest(int64_t us) {
    return (struct budget){ .end_us = clock_latest() + us };
}

static inline bool budget_is_spent(struct budget *b) {
    return (++b->asked % 16 == 0 ? clock_mono_now() : clock_latest()) >= b->end_us;
}

/* Like budget_is_spent(), but reads the clock each time: for pieces that take long compared with the reading. */
static inline bool budget_is_over(const struct budget *b) {
    return clock_mono_now() >= b->end_us;
}

#endif
