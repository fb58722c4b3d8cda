#ifndef ADD_AHEAD_H
#define ADD_AHEAD_H

#include <stdbool.h>
#include "jobs/add.h"

/* Jobs that are added ahead (claim_ahead.h): they are inserted with a lease, and kept for the next GETJOBs. */

/* a was accepted, and has the operation of ordinary jobs. Counts it in adds_ahead.plain of its queue if it is suitable. */
void add_ahead_count(struct add *a);
/* a has left adds.accepted, or its jobs may not be added ahead any more. */
void add_ahead_left(struct add *a);
/* Called when a is about to be sent. True if it must wait, because there are many jobs ahead. Then it goes on with turn(). */
bool add_ahead_hold(struct add *a, void (*turn)(struct task *t));
/* Called before a is checked. True if another add of its client waits. Then a waits behind it, and begins with turn(). */
bool add_ahead_waits_behind(struct add *a, void (*turn)(struct task *t));
/* a waits no longer. */
void add_ahead_unhold(struct add *a);
/* Decides whether the jobs of a are added ahead: sets a->ahead. Called when a is counted in adds.sent. */
void add_ahead_decide(struct add *a);
/* a is about to leave adds.sent. */
void add_ahead_completed(const struct add *a);
/* The insert is committed. Does nothing unless a->ahead. */
void add_ahead_keep(const struct add *a);
/* The insert has ended, after add_ahead_keep() if it was committed. Does nothing unless a->ahead. */
void add_ahead_end(struct add *a);

#endif
