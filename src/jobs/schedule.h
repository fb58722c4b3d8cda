#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdint.h>
#include "base/cron_expr.h"
#include "batch/op.h"

/*
 * Schedules: recurring jobs. Every server polls for ticks that are due, and the first server fires a tick. One
 * statement adds the jobs and sets the next tick, if the schedule has not changed since it was read. A tick
 * therefore makes its jobs once, even if servers fail or connections are lost. The commands are in cmd_schedule.c.
 */

/* Ticks that no server fired in time. The numbers are stored in the database. */
#define SCHEDULE_MISSED(X)                                                       \
    X(MISSED_SKIP, "skip") /* a tick that is at most seconds late makes a job */ \
    X(MISSED_ONCE, "once") /* all missed ticks make one job */                   \
    X(MISSED_ALL, "all")   /* each makes one, up to SCHEDULE_CATCH_UP */

enum schedule_missed {
#define X(id, name) id,
    SCHEDULE_MISSED(X)
#undef X
        MISSED_COUNT
};

#define SCHEDULE_CATCH_UP 1000

/* The first tick of a new schedule. */
int64_t schedule_first(const struct cron_expr *e, int64_t now);
/* Schedules have changed: reads all of them. */
void schedule_look(void);
/* Reads the schedules when one may be due. */
void schedule_turn(void);
/* Time of the next schedule_turn(), clock_db(). INT64_MAX while a statement runs. */
int64_t schedule_next_turn(void);

#endif
