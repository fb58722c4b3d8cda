/* Timers of the monotonic clock. */
#include "base/timer.h"

#include "base/list.h"

static struct heap timers;

void timer_set(struct timer *t, int64_t when, void (*fn)(struct timer *t)) {
    t->fn = fn;
    heap_set(&timers, &t->item, when);
}

void timer_stop(struct timer *t) {
    heap_remove(&timers, &t->item);
}

void timers_run(int64_t mono_us) {
    for (int left = TIMERS_A_TURN; left > 0 && timers_next() <= mono_us; left--) {
        struct timer *t = CONTAINER_OF(heap_first(&timers), struct timer, item);

        timer_stop(t);
        t->fn(t);
    }
}

int64_t timers_next(void) {
    const struct heap_item *first = heap_first(&timers);

    return first == NULL ? INT64_MAX : first->due;
}
