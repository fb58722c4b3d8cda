#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stddef.h>
#include <stdint.h>
#include "base/cron_expr.h"

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

/* A tick while the job of the tick before it exists. The numbers are stored in the database. */
#define SCHEDULE_OVERLAP(X)                             \
    X(OVERLAP_QUEUE, "queue")     /* it adds its job */ \
    X(OVERLAP_SKIP, "skip")       /* it adds no job */  \
    X(OVERLAP_REPLACE, "replace") /* it deletes the job before it */

enum schedule_overlap {
#define X(id, name) id,
    SCHEDULE_OVERLAP(X)
#undef X
        OVERLAP_COUNT
};

/* The first tick of a new schedule. */
int64_t schedule_first(const struct cron_expr *e, int64_t now);
/* The ticks from the tick next on, at most count. Returns their number. */
#define SCHEDULE_NEXT_MAX 100
size_t schedule_upcoming(const struct cron_expr *e, int64_t next, size_t count, int64_t *ticks);
/* Schedules have changed: reads all of them. */
void schedule_look(void);
/* Reads the schedules when one may be due. */
void schedule_turn(void);
/* Time of the next schedule_turn(), clock_db(). INT64_MAX while the schedules are read, or too many are firing. */
int64_t schedule_next_turn(void);

#endif
