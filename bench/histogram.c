/* A log-linear histogram of durations: constant memory, a few instructions a sample. */
#include "histogram.h"

#define SUB_BUCKETS (1 << HISTOGRAM_SUB_BITS)
#define MAX_VALUE ((INT64_C(1) << HISTOGRAM_MAX_BITS) - 1)

/* Each value below 64 has a bucket. Above, the six bits after the highest bit select the bucket within the power of
 * two. */
static int bucket_of(int64_t value) {
    if (value < SUB_BUCKETS)
        return (int)value;
    int high = 63 - __builtin_clzll((unsigned long long)value);
    int shift = high - HISTOGRAM_SUB_BITS;
    int sub = (int)(value >> shift) - SUB_BUCKETS;
    return ((shift + 1) << HISTOGRAM_SUB_BITS) + sub;
}

static int64_t bucket_upper(int bucket) {
    int row = bucket >> HISTOGRAM_SUB_BITS;
    int64_t sub = bucket & (SUB_BUCKETS - 1);
    if (row == 0)
        return sub;
    return ((sub + SUB_BUCKETS + 1) << (row - 1)) - 1;
}

void histogram_record(struct histogram *h, int64_t ns) {
    if (ns < 0)
        ns = 0;
    if (ns > MAX_VALUE)
        ns = MAX_VALUE;
    h->buckets[bucket_of(ns)]++;
    h->count++;
    h->sum += (double)ns;
    if (ns > h->max)
        h->max = ns;
}

int64_t histogram_percentile(const struct histogram *h, double share) {
    uint64_t rank = (uint64_t)(share * (double)h->count + 0.5);
    uint64_t seen = 0;
    if (rank < 1)
        rank = 1;
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen >= rank) {
            int64_t upper = bucket_upper(i);
            return upper < h->max ? upper : h->max;
        }
    }
    return h->max;
}

double histogram_mean(const struct histogram *h) {
    return h->count ? h->sum / (double)h->count : 0;
}
