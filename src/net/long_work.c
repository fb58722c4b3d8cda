/* Work in steps over several turns, so that a long command does not delay the others. */
#include "net/long_work.h"

#include "base/stats.h"
#include "base/time_budget.h"

/* The share of works in a turn. It can be small, because turns do not wait for events while works are left. */
#define SHARE_US (1 * US_PER_MS)

static struct list works = { &works, &works };

static void take_step(struct long_work *w) {
    if (w->step(w) && !w->waits)
        long_work_go_on(w);
}

void long_work_begin(struct long_work *w, bool (*step)(struct long_work *w)) {
    list_init(&w->node);
    w->step = step;
    w->waits = false;
    take_step(w);
}

void long_work_wait(struct long_work *w) {
    w->waits = true;
}

void long_work_go_on(struct long_work *w) {
    w->waits = false;
    if (list_empty(&w->node))
        list_push_back(&works, &w->node);
}

void long_works_turn(void) {
    struct budget share;

    if (list_empty(&works))
        return;
    share = budget_of(SHARE_US);
    while (!list_empty(&works) && !budget_is_over(&share)) {
        stats.later_steps++;
        take_step(LIST_ENTRY(list_pop_front(&works), struct long_work, node));
    }
}

bool long_works_pending(void) {
    return !list_empty(&works);
}
