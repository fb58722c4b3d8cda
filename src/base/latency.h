#ifndef LATENCY_H
#define LATENCY_H

#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/list.h"
#include "base/util.h"

/*
 * Latency spikes by kind of event. Each event keeps its last samples, one a
 * second, the worst of that second. Whether something was slow enough to be
 * told here is the caller's business.
 */
#define LATENCY_SAMPLES 160

struct latency_sample {
    int64_t unix_s;
    int64_t ms;
};

struct latency_event {
    struct list link;
    char *name;
    int64_t max_ms; /* since the last reset, also of samples that are gone */
    /* Private: a ring. */
    size_t taken;
    struct latency_sample samples[LATENCY_SAMPLES];
};

/* Clocks that step back are no reason to lose a sample. */
void latency_add(const char *event, int64_t unix_s, int64_t ms);

/* The first event, and the one after another; NULL at the end. */
const struct latency_event *latency_first(void);
const struct latency_event *latency_next(const struct latency_event *after);
/* NULL when nothing was told of it. */
const struct latency_event *latency_find(struct slice name);

/* How many samples there are, and the one at index; 0 is the oldest. */
size_t latency_count(const struct latency_event *e);
struct latency_sample latency_at(const struct latency_event *e, size_t index);
struct latency_sample latency_latest(const struct latency_event *e);

/* False when nothing was told of it. */
bool latency_reset(struct slice name);
/* How many events were forgotten. */
size_t latency_reset_all(void);

/* A graph for a terminal of 80 columns: a bar a sample, with its age below. */
void latency_graph(const struct latency_event *e, int64_t unix_s, struct buf *out);
/* What the samples say in words. threshold_ms as configured; 0: switched off. */
void latency_doctor(int64_t unix_s, int64_t threshold_ms, struct buf *out);

#endif
