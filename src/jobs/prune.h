#ifndef PRUNE_H
#define PRUNE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/timer.h"
#include "batch/op.h"

/*
 * Deletes rows that are not needed any more, in pages of a limited number of rows. The next page follows a full page after
 * a rest, so that other statements go first.
 */
struct prune {
    struct task task;  /* .op and .rows are set */
    struct timer next; /* while the next page waits */
    int64_t sent_us;   /* clock_mono() */
};

/* Sends a page, unless the pages before have not ended. */
void prune_start(struct prune *p);
/* op.begin of the task calls it. */
void prune_sent(struct prune *p);
/* op.on_end of the task calls it. is_full: there may be more rows. */
void prune_ended(struct prune *p, bool is_full);

#endif
