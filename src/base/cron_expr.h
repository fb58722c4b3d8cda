#ifndef CRON_EXPR_H
#define CRON_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"

/*
 * Recurring times in the syntax of crontab:
 *
 *     [TZ=zone] [second] minute hour day-of-month month day-of-week
 *     [TZ=zone] @hourly | @daily | @midnight | @weekly | @monthly | @yearly | @annually
 *     @every 90s | @every 1h30m
 *
 * Fields are lists of values, names (jan, mon), ranges, and steps. If day-of-month and day-of-week are both restricted,
 * a day that matches either of them counts, as in cron. The default zone is UTC.
 *
 * A local time that falls into the gap of a clock change means the end of the gap. A local time that occurs twice means
 * the first occurrence. Times are seconds since 1970.
 */
#define CRON_TEXT_MAX 250
#define CRON_ZONE_MAX 64
#define CRON_NEVER INT64_MAX

struct cron_expr {
    int64_t every; /* seconds between two times; 0: the fields below give the times */
    uint64_t second;
    uint64_t minute;
    uint64_t hour;
    uint64_t day;     /* day of the month */
    uint64_t month;   /* bits of 1 to 12 */
    uint64_t weekday; /* 0 is Sunday */
    bool either_day;  /* day or weekday; otherwise both */
    char zone[CRON_ZONE_MAX];
};

/* False if the syntax is wrong. error then names the field or word, in a sentence without a full stop. cron_parse()
 * does not check that the zone exists. */
bool cron_parse(struct slice text, struct cron_expr *e, char *error, size_t size) MUST_CHECK;

/* The first time after `after`; CRON_NEVER if there is none. The times of @every are anchor + n * every. offset_at
 * returns by how many seconds the zone's clocks are ahead of UTC at a UTC time. */
int64_t cron_next(const struct cron_expr *e, int64_t anchor, int64_t after, int32_t (*offset_at)(int64_t));

#endif
