#ifndef QUANTILES_H
#define QUANTILES_H

#include <stdint.h>

/*
 * Durations of the last one to two minutes, for their quantiles. A duration is counted in a bucket, which is at most an
 * eighth of its lower bound wide. So a quantile is right to a sixteenth. Durations of 19 hours and more are in the last
 * bucket.
 *
 * The caller gives all times of one monotonic clock.
 */
#define QUANTILE_BUCKETS 272
#define QUANTILE_WINDOW_US INT64_C(60000000)

struct quantiles {
    int64_t began_us; /* begin of the current window; the other window ended then */
    unsigned current;
    uint32_t counts[2][QUANTILE_BUCKETS];
};

/* Counts a duration. A negative one counts as 0. */
void quantiles_add(struct quantiles *q, int64_t now_us, int64_t us);
/* The duration that per_thousand of 1000 durations do not exceed; -1 if there are none. */
int64_t quantiles_read(const struct quantiles *q, int64_t now_us, unsigned per_thousand);

#endif
