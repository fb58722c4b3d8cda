#ifndef BUDGET_H
#define BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include "base/clock.h"

/*
 * A share of a turn's time. Work that may be long asks after each piece whether its share is spent, and goes on
 * in a later turn. The clock is read at every sixteenth question; between two readings a clock_mono_now() of others
 * counts.
 */
struct budget {
    int64_t end_us;
    unsigned asked;
};

static inline struct budget budget_of(int64_t us) {
    return (struct budget){ .end_us = clock_mono_now() + us };
}

/* The same, for work that begins where the clock was read last. */
static inline struct budget budget_from_latest(int64_t us) {
    return (struct budget){ .end_us = clock_latest() + us };
}

static inline bool budget_is_spent(struct budget *b) {
    return (++b->asked % 16 == 0 ? clock_mono_now() : clock_latest()) >= b->end_us;
}

/* The same of pieces that take long enough to read the clock after each. */
static inline bool budget_is_over(const struct budget *b) {
    return clock_mono_now() >= b->end_us;
}

#endif
