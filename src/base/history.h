#ifndef HISTORY_H
#define HISTORY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Figures of the last minutes, hours and days, in rings of slots. A slot has the figures of one step of time. Gauges
 * have their value at the end of the step; counters have their increase during the step.
 *
 * The caller gives all times of one monotonic clock, so a step of the wall clock moves no slot.
 */
#define HISTORY_RANGE_NAMES(X)    \
    X(HISTORY_MINUTES, "MINUTES") \
    X(HISTORY_HOURS, "HOURS")     \
    X(HISTORY_DAYS, "DAYS")

enum history_range {
#define X(id, name) id,
    HISTORY_RANGE_NAMES(X)
#undef X
        HISTORY_RANGES
};

/* Columns: id, name, is it a counter? */
#define HISTORY_SERIES_NAMES(X)                   \
    X(HISTORY_LEN, "len", false)                  \
    X(HISTORY_ACTIVE, "active", false)            \
    X(HISTORY_ADDED, "added", true)               \
    X(HISTORY_DELIVERED, "delivered", true)       \
    X(HISTORY_ACKNOWLEDGED, "acknowledged", true) \
    X(HISTORY_FAILED, "failed", true)             \
    X(HISTORY_DIED, "died", true)

enum history_series {
#define X(id, name, counts) id,
    HISTORY_SERIES_NAMES(X)
#undef X
        HISTORY_SERIES
};

struct history_shape {
    int64_t step_us;
    uint32_t slots;
};

struct history_figures {
    uint64_t values[HISTORY_SERIES];
};

/* The value of a slot during which no sample was taken. Larger values are stored as HISTORY_UNKNOWN - 1. */
#define HISTORY_UNKNOWN UINT32_MAX

struct history;

/* shapes has HISTORY_RANGES elements and must live as long as the history. The counters increase from `now`. */
struct history *history_new(const struct history_shape *shapes, int64_t mono_us, struct history_figures now);
void history_free(struct history *h);
/* The memory of a history with these shapes, in bytes. */
size_t history_bytes(const struct history_shape *shapes);

/* Ends the slots whose steps are over at mono_us. A step during which this was not called becomes HISTORY_UNKNOWN; the
 * last ended slot has the increase since the last call. A counter that is smaller than before has begun again at 0. */
void history_sample(struct history *h, int64_t mono_us, struct history_figures now);

/* The number of ended slots that the ring has. */
size_t history_count(const struct history *h, enum history_range range);
/* The value of an ended slot; 0 is the oldest. */
uint32_t history_at(const struct history *h, enum history_range range, enum history_series series,
                    size_t index);
/* The end of the last ended slot, in the time of mono_us. */
int64_t history_end_us(const struct history *h, enum history_range range);

#endif
