#ifndef LATENCY_H
#define LATENCY_H

#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/list.h"
#include "base/util.h"

/*
 * Latency spikes by kind of event, for LATENCY. Each event keeps its last LATENCY_SAMPLES samples, at most one for each
 * second: the worst of that second. The caller decides which durations are long enough to be added.
 */
#define LATENCY_SAMPLES 160

struct latency_sample {
    int64_t unix_s;
    int64_t ms;
};

struct latency_event {
    struct list link;
    char *name;
    int64_t max_ms; /* since the last reset, overwritten samples included */
    /* Private: a ring. */
    size_t taken; /* samples since the last reset */
    struct latency_sample samples[LATENCY_SAMPLES];
};

/* Adds a sample, or raises the sample of the same second. A unix_s before the last one is accepted, because the wall
 * clock may step back. */
void latency_add(const char *event, int64_t unix_s, int64_t ms);

/* The events in the order of their first sample; NULL at the end. */
const struct latency_event *latency_first(void);
const struct latency_event *latency_next(const struct latency_event *after);
/* NULL if the event has no sample. */
const struct latency_event *latency_find(struct slice name);

/* The number of samples, and the sample at index; 0 is the oldest. */
size_t latency_count(const struct latency_event *e);
struct latency_sample latency_at(const struct latency_event *e, size_t index);
struct latency_sample latency_latest(const struct latency_event *e);

/* Removes the event. False if it has no sample. */
bool latency_reset(struct slice name);
/* Removes all events and returns their number. */
size_t latency_reset_all(void);

/* Appends a graph for a terminal of 80 columns: one bar for each sample, with its age below. */
void latency_graph(const struct latency_event *e, int64_t unix_s, struct buf *out);
/* Appends a summary of the samples in words. threshold_ms: the option latency-monitor-threshold; 0: switched off. */
void latency_doctor(int64_t unix_s, int64_t threshold_ms, struct buf *out);

#endif
