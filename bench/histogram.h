#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>

/*
 * A histogram of durations in nanoseconds. Every power of two is divided into
 * 64 equal buckets, so a percentile is at most 1.6 % above the true value;
 * the maximum is exact. All zero is a valid empty histogram.
 */

enum { HISTOGRAM_SUB_BITS = 6, HISTOGRAM_MAX_BITS = 42 };
#define HISTOGRAM_BUCKETS ((HISTOGRAM_MAX_BITS - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

struct histogram {
    uint64_t buckets[HISTOGRAM_BUCKETS];
    uint64_t count;
    int64_t max;
    double sum;
};

/* A negative duration counts as 0. A duration above 2^42 ns (73 minutes) counts as 2^42 ns. */
void histogram_record(struct histogram *h, int64_t ns);

/* The duration below or at which the given share (0..1) lies; 0 when empty. */
int64_t histogram_percentile(const struct histogram *h, double share);

double histogram_mean(const struct histogram *h);

#endif
