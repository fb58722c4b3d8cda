#ifndef LONG_WORK_H
#define LONG_WORK_H

#include <stdbool.h>
#include "base/list.h"

/*
 * Work that is too long for a turn: the names of a SUBSCRIBE with a million of them, all queues for KEYS. It is a
 * member of its owner, and is done in steps. All works take turns, a step each, within a share of each turn.
 */
struct long_work {
    struct list node; /* among the works */
    bool waits;
    /* Does a piece of about half a millisecond. False: it is done, and its owner may be gone. */
    bool (*step)(struct long_work *w);
};

/* A step that has room for so many names, or as much of anything else that takes some memory accesses each. */
#define LONG_WORK_NAMES 256
/* And what a step of unknown cost may take: names that are compared with a pattern. */
#define LONG_WORK_US 500

/* Takes the first step at once. So the work may be done when this returns. */
void long_work_begin(struct long_work *w, bool (*step)(struct long_work *w));
/* A step has called this: there is no other before long_work_go_on(). It still returns true. */
void long_work_wait(struct long_work *w);
void long_work_go_on(struct long_work *w);

/* Takes steps, for the share of one turn. */
void long_works_turn(void);
/* Works are left: the next turn must not wait for events. */
bool long_works_pending(void);

#endif
