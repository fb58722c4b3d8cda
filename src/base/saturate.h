#ifndef SATURATE_H
#define SATURATE_H

#include <stdint.h>

/* a - b; INT64_MAX or INT64_MIN if the difference is out of range. For times and ids that another program wrote. */
static inline int64_t int64_minus(int64_t a, int64_t b) {
    int64_t difference;

    if (!__builtin_sub_overflow(a, b, &difference))
        return difference;
    return b < 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t int64_at_least_zero(int64_t value) {
    return value > 0 ? value : 0;
}

static inline int64_t int64_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

#endif
