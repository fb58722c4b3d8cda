/* Work in steps over several turns, so that a long command does not delay the others. */
#include "net/long_work.h"

#include "base/stats.h"
#include "base/time_budget.h"

/* The share of works in a turn. It can be small, because turns do not wait for events while works are left. */
#define SHARE_US (1 * US_PER_MS)

static struct fair_list works = FAIR_LIST(works);

static void take_step(struct long_work *w) {
    if (w->step(w) && !w->waits)
        long_work_go_on(w);
}

void long_work_begin(struct long_work *w, struct fair_user *user, bool (*step)(struct long_work *w)) {
    fair_node_init(&w->turn);
    w->turn.user = user;
    w->step = step;
    w->waits = false;
    take_step(w);
}

void long_work_wait(struct long_work *w) {
    w->waits = true;
}

void long_work_go_on(struct long_work *w) {
    w->waits = false;
    if (w->turn.in == NULL)
        fair_add(&works, &w->turn, 1);
}

void long_works_turn(void) {
    struct budget share;

    if (fair_list_is_empty(&works))
        return;
    share = budget_of(SHARE_US);
    while (!fair_list_is_empty(&works) && !budget_is_over(&share)) {
        struct fair_node *n = fair_first(&works);

        stats.later_steps++;
        fair_take(n);
        take_step(CONTAINER_OF(n, struct long_work, turn));
    }
}

bool long_works_pending(void) {
    return !fair_list_is_empty(&works);
}
