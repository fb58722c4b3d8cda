#ifndef LONG_WORK_H
#define LONG_WORK_H

#include <stdbool.h>
#include "base/fair_list.h"

/*
 * Work that is too long for one turn, such as a SUBSCRIBE with a million names, or KEYS over all queues. It is
 * a member of its owner, and is done in steps. All works take steps in rotation, within a share of each turn. Users take
 * turns, so a user with many works delays the step of another user by one step.
 */
struct long_work {
    struct fair_node turn; /* in the list of works */
    bool waits;
    /* Does a step of about half a millisecond. False: the work is done, and its owner may be freed. */
    bool (*step)(struct long_work *w);
};

/* The number of names that a step handles, or of other things that take a few memory accesses each. */
#define LONG_WORK_NAMES 256
/* The time for a step of unknown cost, such as the comparison of names with a pattern, in microseconds. */
#define LONG_WORK_US 500

/* Does the first step at once. So the work may be done when this returns. user: whose turns it takes; NULL: the server. */
void long_work_begin(struct long_work *w, struct fair_user *user, bool (*step)(struct long_work *w));
/* Called by a step: no other step is done before long_work_go_on(). That step still returns true. */
void long_work_wait(struct long_work *w);
void long_work_go_on(struct long_work *w);

/* Does steps for the share of one turn. */
void long_works_turn(void);
/* True if works are left: the next turn must not wait for events. */
bool long_works_pending(void);

#endif
