#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

/*
 * Durations in fixed buckets. Columns: microseconds, and the bound as METRICS shows it in seconds. The last bucket has
 * no bound.
 */
#define HISTOGRAM_BOUNDS(X) \
    X(1000, "0.001")        \
    X(5000, "0.005")        \
    X(10000, "0.01")        \
    X(50000, "0.05")        \
    X(100000, "0.1")        \
    X(500000, "0.5")        \
    X(1000000, "1.0")       \
    X(5000000, "5.0")       \
    X(10000000, "10.0")     \
    X(60000000, "60.0")     \
    X(300000000, "300.0")   \
    X(3600000000, "3600.0")

#define HISTOGRAM_BUCKETS 13

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t sum_us;
};

/* A negative duration counts as 0. */
void histogram_add(struct histogram *h, int64_t us);
/* Appends the samples of OpenMetrics: name_bucket, name_count and name_sum. labels: text such as queue="mail", or an
 * empty text. */
void histogram_samples(const struct histogram *h, const char *name, struct slice labels, struct buf *out);

#endif
