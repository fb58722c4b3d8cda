#ifndef CRON_EXPR_H
#define CRON_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"

/*
 * Times that recur, as crontab writes them:
 *
 *     [TZ=zone] [second] minute hour day-of-month month day-of-week
 *     [TZ=zone] @hourly | @daily | @midnight | @weekly | @monthly | @yearly | @annually
 *     @every 90s | @every 1h30m
 *
 * Fields are lists of values, names (jan, mon), ranges, and steps. When both days are restricted, either
 * will do, as everywhere. Without a zone it is UTC.
 *
 * A local time that a change of the clock leaves out is at the end of the gap; one that comes twice is the
 * first of the two. Times are seconds since 1970.
 */
#define CRON_TEXT_MAX 250
#define CRON_ZONE_MAX 64
#define CRON_NEVER INT64_MAX

struct cron_expr {
    int64_t every; /* seconds; 0: by the fields */
    uint64_t second;
    uint64_t minute;
    uint64_t hour;
    uint64_t day;     /* of the month */
    uint64_t month;   /* bits of 1 to 12 */
    uint64_t weekday; /* 0 is Sunday */
    bool either_day;  /* day or weekday; otherwise both */
    char zone[CRON_ZONE_MAX];
};

/* False when text is none of these; error then says which field is wrong, in a sentence without its end. Whether
 * there is such a zone is not looked at. */
bool cron_parse(struct slice text, struct cron_expr *e, char *error, size_t size) MUST_CHECK;

/* The first time after a moment. @every counts from the anchor, any earlier time of its own. offset_at tells by how
 * many seconds the zone's clocks are ahead of UTC at a moment. */
int64_t cron_next(const struct cron_expr *e, int64_t anchor, int64_t after, int32_t (*offset_at)(int64_t));

#endif
