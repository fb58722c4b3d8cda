#ifndef TIMER_H
#define TIMER_H

#include "base/heap.h"

/*
 * Timers of the monotonic clock. A timer is a member of the struct that it belongs to. All zero is a valid timer that
 * is not set. Timers that are due at the same turn are called in the order of their times.
 */
struct timer {
    struct heap_item item;
    void (*fn)(struct timer *t);
};

/* Calls fn once, at the time `when` (clock_mono()). Moves a timer that is set already. */
void timer_set(struct timer *t, int64_t when, void (*fn)(struct timer *t));
/* Does nothing when t is not set. A timer must be stopped before its memory is freed. */
void timer_stop(struct timer *t);
static inline bool timer_is_set(const struct timer *t) {
    return heap_has(&t->item);
}

/* Calls the functions of the due timers, at most TIMERS_A_TURN. A function may set, stop and free timers. */
#define TIMERS_A_TURN 10000
void timers_run(int64_t mono_us);
/* The earliest time of a timer, INT64_MAX if none is set. It is in the past if timers_run() left due timers. */
int64_t timers_next(void);

#endif
