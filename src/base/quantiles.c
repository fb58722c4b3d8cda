/* Quantiles of recent durations. */
#include "base/quantiles.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Durations below this many microseconds have a bucket each. Each larger power of two has as many buckets. */
#define STEPS 8
#define STEP_BITS 3

static size_t quantile_bucket(int64_t us) {
    int bits;
    size_t bucket;

    if (us < STEPS)
        return us < 0 ? 0 : (size_t)us;
    bits = 63 - __builtin_clzll((unsigned long long)us);
    bucket = (size_t)(bits - STEP_BITS + 1) * STEPS + (size_t)((us >> (bits - STEP_BITS)) & (STEPS - 1));
    return bucket < QUANTILE_BUCKETS ? bucket : QUANTILE_BUCKETS - 1;
}

/* The middle of the bucket. */
static int64_t quantile_value(size_t bucket) {
    int shift = (int)(bucket / STEPS) - 1;
    int64_t width;

    if (bucket < STEPS)
        return (int64_t)bucket;
    width = INT64_C(1) << shift;
    return (int64_t)(STEPS + bucket % STEPS) * width + width / 2;
}

/* True if durations of that window are not too old. */
static bool window_counts(const struct quantiles *q, unsigned window, int64_t now_us) {
    int64_t age_us = now_us - q->began_us;

    return age_us < (window == q->current ? 2 : 1) * QUANTILE_WINDOW_US;
}

void quantiles_add(struct quantiles *q, int64_t now_us, int64_t us) {
    if (now_us - q->began_us >= 2 * QUANTILE_WINDOW_US)
        memset(q->counts, 0, sizeof q->counts);
    if (now_us - q->began_us >= QUANTILE_WINDOW_US) {
        q->began_us = now_us;
        q->current ^= 1;
        memset(q->counts[q->current], 0, sizeof q->counts[q->current]);
    }
    q->counts[q->current][quantile_bucket(us)]++;
}

static uint64_t quantile_count(const struct quantiles *q, int64_t now_us, size_t bucket) {
    uint64_t count = 0;

    for (unsigned window = 0; window < 2; window++)
        count += window_counts(q, window, now_us) ? q->counts[window][bucket] : 0;
    return count;
}

int64_t quantiles_read(const struct quantiles *q, int64_t now_us, unsigned per_thousand) {
    uint64_t all = 0, below = 0;
    size_t bucket = 0;

    for (size_t i = 0; i < QUANTILE_BUCKETS; i++)
        all += quantile_count(q, now_us, i);
    if (all == 0)
        return -1;
    for (;; bucket++) {
        below += quantile_count(q, now_us, bucket);
        if (below * 1000 >= all * per_thousand)
            return quantile_value(bucket);
    }
}
