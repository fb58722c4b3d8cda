#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdint.h>
#include "base/cron_expr.h"
#include "batch/op.h"

/*
 * Jobs that recur. Every server looks for ticks that are due, and whoever comes first fires them: one
 * statement adds the jobs and moves the schedule on, if it still is as it was read. So a tick makes its jobs
 * once, whatever becomes of servers and connections (cmd_schedule.c has the commands).
 */

/* Ticks that nobody was there for, by their numbers in the database. */
#define SCHEDULE_MISSED(X)                                                 \
    X(MISSED_SKIP, "skip") /* only one that is seconds late makes a job */ \
    X(MISSED_ONCE, "once") /* all of them together make one */             \
    X(MISSED_ALL, "all")   /* each makes one, up to SCHEDULE_CATCH_UP of them */

enum schedule_missed {
#define X(id, name) id,
    SCHEDULE_MISSED(X)
#undef X
        MISSED_COUNT
};

#define SCHEDULE_CATCH_UP 1000

/* The first tick of a new schedule. */
int64_t schedule_first(const struct cron_expr *e, int64_t now);
/* Schedules have changed: looks at all of them. */
void schedule_look(void);
/* Looks, when something may be due. */
void schedule_turn(void);
/* When that will be (clock_db()), INT64_MAX while it is under way. */
int64_t schedule_next_turn(void);

#endif
