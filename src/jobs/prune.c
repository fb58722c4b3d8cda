/* Deletes rows that are not needed any more, page after page. */
#include "jobs/prune.h"

#include "base/clock.h"
#include "base/util.h"
#include "batch/batch.h"

/* The next page waits for this many times the duration of the last one, and at most so long. Rows are deleted faster than
 * clients can add them. */
#define PRUNE_TIMES 9
#define PRUNE_REST_MOST_US (2 * US_PER_S)

void prune_start(struct prune *p) {
    if (!timer_is_set(&p->next))
        batch_add_idle(&p->task);
}

void prune_sent(struct prune *p) {
    p->sent_us = clock_mono();
}

static void on_prune_rested(struct timer *t) {
    batch_add_idle(&CONTAINER_OF(t, struct prune, next)->task);
}

void prune_ended(struct prune *p, bool is_full) {
    if (is_full)
        timer_set(&p->next, clock_rest_end(p->sent_us, PRUNE_TIMES, PRUNE_REST_MOST_US), on_prune_rested);
}
