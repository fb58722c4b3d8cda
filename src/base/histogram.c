/* Durations in fixed buckets, for METRICS. */
#include "base/histogram.h"

#include <inttypes.h>

static const struct histogram_bound {
    int64_t us;
    const char *seconds;
} bounds[] = {
#define X(us, seconds) { INT64_C(us), seconds },
    HISTOGRAM_BOUNDS(X)
#undef X
        { INT64_MAX, "+Inf" },
};

_Static_assert(LENGTH(bounds) == HISTOGRAM_BUCKETS, "each bucket has a bound");

void histogram_add(struct histogram *h, int64_t us) {
    size_t bucket = 0;

    if (us < 0)
        us = 0;
    while (us > bounds[bucket].us)
        bucket++;
    h->counts[bucket]++;
    h->sum_us += (uint64_t)us;
}

static void histogram_total(const char *name, const char *part, struct slice labels, double value,
                            struct buf *out) {
    if (labels.len > 0)
        buf_printf(out, "%s_%s{%.*s} %.15g\n", name, part, (int)labels.len, labels.ptr, value);
    else
        buf_printf(out, "%s_%s %.15g\n", name, part, value);
}

void histogram_samples(const struct histogram *h, const char *name, struct slice labels, struct buf *out) {
    const char *comma = labels.len > 0 ? "," : "";
    uint64_t count = 0;

    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        count += h->counts[i];
        buf_printf(out, "%s_bucket{%.*s%sle=\"%s\"} %" PRIu64 "\n", name, (int)labels.len, labels.ptr, comma,
                   bounds[i].seconds, count);
    }
    histogram_total(name, "count", labels, (double)count, out);
    histogram_total(name, "sum", labels, (double)h->sum_us / 1e6, out);
}
