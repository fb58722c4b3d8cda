/* Figures of the last minutes, hours and days, in rings of slots. */
#include "base/history.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/util.h"

static const bool series_counts[HISTORY_SERIES] = {
#define X(id, name, counts) [id] = counts,
    HISTORY_SERIES_NAMES(X)
#undef X
};

struct history_ring {
    int64_t first;                 /* the number of the first slot */
    int64_t at;                    /* the number of the slot in progress: time / step */
    struct history_figures before; /* the figures when that slot began */
    uint32_t *values;              /* the slots of each series, one series after the other */
};

struct history {
    const struct history_shape *shapes;
    struct history_ring rings[HISTORY_RANGES];
    uint32_t values[];
};

size_t history_bytes(const struct history_shape *shapes) {
    size_t slots = 0;

    for (size_t i = 0; i < HISTORY_RANGES; i++)
        slots += shapes[i].slots;
    return sizeof(struct history) + slots * HISTORY_SERIES * sizeof(uint32_t);
}

struct history *history_new(const struct history_shape *shapes, int64_t mono_us, struct history_figures now) {
    struct history *h = xcalloc(1, history_bytes(shapes));
    uint32_t *values = h->values;

    h->shapes = shapes;
    for (size_t i = 0; i < HISTORY_RANGES; i++) {
        h->rings[i].first = h->rings[i].at = mono_us / shapes[i].step_us;
        h->rings[i].before = now;
        h->rings[i].values = values;
        values += shapes[i].slots * HISTORY_SERIES;
    }
    return h;
}

void history_free(struct history *h) {
    free(h);
}

static uint32_t *history_slot(const struct history *h, enum history_range range, enum history_series series,
                              int64_t number) {
    size_t slots = h->shapes[range].slots;

    return &h->rings[range].values[series * slots + (size_t)number % slots];
}

static uint32_t history_value(enum history_series series, uint64_t before, uint64_t now) {
    uint64_t value = now;

    if (series_counts[series] && now >= before)
        value = now - before;
    return value < HISTORY_UNKNOWN ? (uint32_t)value : HISTORY_UNKNOWN - 1;
}

/* Ends the slots before `to`. At most one round of the ring is written, however long the pause was. */
static void history_advance(struct history *h, enum history_range range, int64_t to,
                            const struct history_figures *now) {
    struct history_ring *ring = &h->rings[range];
    int64_t slots = h->shapes[range].slots;
    int64_t from = ring->at < to - slots ? to - slots : ring->at;

    for (int series = 0; series < HISTORY_SERIES; series++) {
        for (int64_t number = from; number < to - 1; number++)
            *history_slot(h, range, series, number) = HISTORY_UNKNOWN;
        *history_slot(h, range, series, to - 1) =
            history_value(series, ring->before.values[series], now->values[series]);
    }
    ring->at = to;
    ring->before = *now;
}

void history_sample(struct history *h, int64_t mono_us, struct history_figures now) {
    for (int range = 0; range < HISTORY_RANGES; range++) {
        int64_t to = mono_us / h->shapes[range].step_us;

        if (to > h->rings[range].at)
            history_advance(h, range, to, &now);
    }
}

size_t history_count(const struct history *h, enum history_range range) {
    int64_t count = h->rings[range].at - h->rings[range].first;
    int64_t slots = h->shapes[range].slots;

    return (size_t)(count < slots ? count : slots);
}

uint32_t history_at(const struct history *h, enum history_range range, enum history_series series,
                    size_t index) {
    int64_t oldest = h->rings[range].at - (int64_t)history_count(h, range);

    return *history_slot(h, range, series, oldest + (int64_t)index);
}

int64_t history_end_us(const struct history *h, enum history_range range) {
    return h->rings[range].at * h->shapes[range].step_us;
}
