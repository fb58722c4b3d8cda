/* Recurring times in the syntax of crontab: parser, and search for the next time. */
#include "base/cron_expr.h"

#include <stdio.h>
#include <string.h>

#define DAY INT64_C(86400)
/* The longest gap between two times is that of 29 February on a given weekday: 28 years, or 40 across 2100. */
#define SEARCH_DAYS (60 * 366)
#define EVERY_MAX (10 * 366 * DAY)

struct field {
    const char *name;
    int min;
    int max;
    const char *words; /* names of three letters for the values from min on; NULL: no names */
};

enum { SECOND, MINUTE, HOUR, MONTHDAY, MONTH, WEEKDAY, FIELDS };

static const struct field fields[FIELDS] = {
    { "second", 0, 59, NULL },
    { "minute", 0, 59, NULL },
    { "hour", 0, 23, NULL },
    { "day of month", 1, 31, NULL },
    { "month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec" },
    { "day of week", 0, 7, "sunmontuewedthufrisat" },
};

static const struct {
    const char *name;
    const char *text;
} shorthands[] = {
    { "@hourly", "0 * * * *" },   { "@daily", "0 0 * * *" },   { "@midnight", "0 0 * * *" },
    { "@weekly", "0 0 * * 0" },   { "@monthly", "0 0 1 * *" }, { "@yearly", "0 0 1 1 *" },
    { "@annually", "0 0 1 1 *" },
};

/* ---- words ---- */

static struct slice part(struct slice s, size_t from, size_t to) {
    return (struct slice){ s.ptr + from, to - from };
}

static size_t cron_expr_find(struct slice s, char c) {
    const char *at = memchr(s.ptr, c, s.len);

    return at == NULL ? s.len : (size_t)(at - s.ptr);
}

/* Returns the part of rest before the next c. Removes this part and c from rest. */
static struct slice cut(struct slice *rest, char c) {
    size_t end = cron_expr_find(*rest, c);
    struct slice word = part(*rest, 0, end);

    *rest = part(*rest, end < rest->len ? end + 1 : end, rest->len);
    return word;
}

static struct slice cron_expr_next_word(struct slice *rest) {
    while (rest->len > 0 && rest->ptr[0] == ' ')
        *rest = part(*rest, 1, rest->len);
    return cut(rest, ' ');
}

/* ---- a field ---- */

static bool read_number(struct slice s, int *value) {
    *value = 0;
    if (s.len == 0 || s.len > 4)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
        *value = *value * 10 + s.ptr[i] - '0';
    }
    return true;
}

static bool read_name(const struct field *f, struct slice s, int *value) {
    char word[4] = "";

    if (f->words == NULL || s.len != 3)
        return false;
    for (*value = f->min; f->words[(*value - f->min) * 3] != '\0'; ++*value) {
        memcpy(word, f->words + (*value - f->min) * 3, 3);
        if (slice_is(s, word))
            return true;
    }
    return false;
}

static bool cron_expr_read_value(const struct field *f, struct slice s, int *value) {
    return read_name(f, s, value) || (read_number(s, value) && *value >= f->min && *value <= f->max);
}

static bool read_range(const struct field *f, struct slice s, bool stepped, int *low, int *high) {
    size_t dash = cron_expr_find(s, '-');

    if (slice_is(s, "*") || slice_is(s, "?")) {
        *low = f->min;
        *high = f->max;
        return true;
    }
    if (!cron_expr_read_value(f, part(s, 0, dash), low))
        return false;
    *high = stepped ? f->max : *low;
    return dash == s.len || (cron_expr_read_value(f, part(s, dash + 1, s.len), high) && *low <= *high);
}

/* Reads one item of a list: a value or a range, with or without a step. */
static bool read_item(const struct field *f, struct slice s, uint64_t *bits) {
    size_t slash = cron_expr_find(s, '/');
    int low, high, step = 1;

    if (slash < s.len && (!read_number(part(s, slash + 1, s.len), &step) || step < 1))
        return false;
    if (!read_range(f, part(s, 0, slash), slash < s.len, &low, &high))
        return false;
    for (int i = low; i <= high; i += step)
        *bits |= UINT64_C(1) << i;
    return true;
}

static bool read_field(const struct field *f, struct slice s, uint64_t *bits) {
    *bits = 0;
    do
        if (!read_item(f, cut(&s, ','), bits))
            return false;
    while (s.len > 0);
    return true;
}

static bool is_star(struct slice s) {
    return s.ptr[0] == '*' || s.ptr[0] == '?';
}

/* ---- expression ---- */

static int32_t no_offset(int64_t at) {
    (void)at;
    return 0;
}

static bool complain(char *error, size_t size, const char *what, struct slice word) {
    snprintf(error, size, "%s: '%.*s'", what, (int)word.len, word.ptr);
    return false;
}

static bool read_fields(struct slice words[FIELDS], struct cron_expr *e, char *error, size_t size) {
    uint64_t *const bits[FIELDS] = { &e->second, &e->minute, &e->hour, &e->day, &e->month, &e->weekday };

    for (int i = 0; i < FIELDS; i++) {
        char what[40];

        snprintf(what, sizeof what, "the field %s is wrong", fields[i].name);
        if (words[i].ptr[words[i].len - 1] == ',' || !read_field(&fields[i], words[i], bits[i]))
            return complain(error, size, what, words[i]);
    }
    /* 0 and 7 both mean Sunday. */
    e->weekday = (e->weekday | e->weekday >> 7) & 127;
    e->either_day = !is_star(words[MONTHDAY]) && !is_star(words[WEEKDAY]);
    if (cron_next(e, 0, 0, no_offset) == CRON_NEVER)
        return complain(error, size, "the field day of month is wrong: there is no such day in month",
                        words[MONTH]);
    return true;
}

static bool split_fields(struct slice text, struct cron_expr *e, char *error, size_t size) {
    struct slice words[FIELDS + 1], rest = text, word;
    int count = 0;

    while ((word = cron_expr_next_word(&rest)).len > 0 && count <= FIELDS)
        words[count++] = word;
    if (count == FIELDS - 1) {
        memmove(words + 1, words, (FIELDS - 1) * sizeof words[0]);
        words[SECOND] = SLICE("0");
        count++;
    }
    if (count != FIELDS) {
        snprintf(error, size, "5 fields are needed, or 6 with seconds first");
        return false;
    }
    return read_fields(words, e, error, size);
}

static int64_t unit_of(char c) {
    switch (c) {
    case 's':
        return 1;
    case 'm':
        return 60;
    case 'h':
        return 3600;
    case 'd':
        return DAY;
    default:
        return 0;
    }
}

/* Reads a period such as "90s" or "1h30m". */
static bool read_every(struct slice s, int64_t *seconds) {
    int64_t number = 0;
    size_t digits = 0;

    *seconds = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] >= '0' && s.ptr[i] <= '9' && ++digits < 10) {
            number = number * 10 + s.ptr[i] - '0';
            continue;
        }
        if (digits == 0 || unit_of(s.ptr[i]) == 0)
            return false;
        *seconds += number * unit_of(s.ptr[i]);
        number = 0;
        digits = 0;
    }
    return digits == 0 && *seconds > 0 && *seconds <= EVERY_MAX;
}

static bool read_shorthand(struct slice text, struct cron_expr *e, char *error, size_t size) {
    struct slice rest = text, name = cron_expr_next_word(&rest), value = cron_expr_next_word(&rest);

    if (slice_is(name, "@every")) {
        if (read_every(value, &e->every) && cron_expr_next_word(&rest).len == 0)
            return true;
        return complain(error, size, "@every takes a time such as 30s, 5m, 1h30m or 2d", value);
    }
    for (size_t i = 0; i < LENGTH(shorthands); i++)
        if (slice_is(name, shorthands[i].name) && value.len == 0)
            return split_fields(slice_str(shorthands[i].text), e, error, size);
    return complain(error, size, "there is no such shorthand", text);
}

static bool read_zone(struct slice *text, struct cron_expr *e, char *error, size_t size) {
    struct slice rest = *text, word = cron_expr_next_word(&rest),
                 zone = part(word, cron_expr_find(word, '='), word.len);

    if (!slice_is(part(word, 0, word.len - zone.len), "TZ") &&
        !slice_is(part(word, 0, word.len - zone.len), "CRON_TZ"))
        return true;
    if (zone.len < 2 || zone.len > CRON_ZONE_MAX)
        return complain(error, size, "there is no such time zone", zone);
    memcpy(e->zone, zone.ptr + 1, zone.len - 1);
    *text = rest;
    return true;
}

static bool is_printable(struct slice text) {
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < ' ' || text.ptr[i] > '~')
            return false;
    return true;
}

bool cron_parse(struct slice text, struct cron_expr *e, char *error, size_t size) {
    struct slice rest = text;

    *e = (struct cron_expr){ 0 };
    if (text.len > CRON_TEXT_MAX || !is_printable(text)) {
        snprintf(error, size, "it is no text of at most %d characters", CRON_TEXT_MAX);
        return false;
    }
    if (!read_zone(&rest, e, error, size))
        return false;
    while (rest.len > 0 && rest.ptr[0] == ' ')
        rest = part(rest, 1, rest.len);
    if (rest.len > 0 && rest.ptr[0] == '@')
        return read_shorthand(rest, e, error, size);
    return split_fields(rest, e, error, size);
}

/* ---- the next time ---- */

/* The lowest set bit at or above from; -1 if there is none. */
static int next_bit(uint64_t bits, int from) {
    bits = from > 63 ? 0 : bits >> from;
    return bits == 0 ? -1 : from + __builtin_ctzll(bits);
}

/* Converts days since 1970 to a date of the proleptic Gregorian calendar. The computation uses years that begin in
 * March, so that the leap day is the last day of a year. */
static void date_of(int64_t day, int *month, int *monthday) {
    int64_t since = day + 719468; /* 0000-03-01 */
    int64_t of_era = since - (since >= 0 ? since : since - 146096) / 146097 * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t from_march = (5 * of_year + 2) / 153;

    *monthday = (int)(of_year - (153 * from_march + 2) / 5 + 1);
    *month = (int)(from_march < 10 ? from_march + 3 : from_march - 9);
}

static bool day_fits(const struct cron_expr *e, int64_t day) {
    int64_t weekday = ((day + 4) % 7 + 7) % 7; /* 1970 began on a Thursday */
    int month, monthday;
    bool by_day, by_weekday = (e->weekday >> weekday & 1) != 0;

    date_of(day, &month, &monthday);
    by_day = (e->day >> monthday & 1) != 0;
    return (e->month >> month & 1) != 0 && (e->either_day ? by_day || by_weekday : by_day && by_weekday);
}

/* The first matching time of day at or after from, in seconds; -1 if there is none. */
static int time_from(const struct cron_expr *e, int from) {
    int hour = next_bit(e->hour, from / 3600);
    int minute = next_bit(e->minute, from / 60 % 60);
    int second = next_bit(e->second, from % 60);

    if (hour == from / 3600) {
        if (minute == from / 60 % 60 && second >= 0)
            return hour * 3600 + minute * 60 + second;
        if (minute == from / 60 % 60)
            minute = next_bit(e->minute, minute + 1);
        if (minute >= 0)
            return hour * 3600 + minute * 60 + next_bit(e->second, 0);
        hour = next_bit(e->hour, hour + 1);
    }
    return hour < 0 ? -1 : hour * 3600 + next_bit(e->minute, 0) * 60 + next_bit(e->second, 0);
}

/* The first matching local time after local. */
static int64_t next_local(const struct cron_expr *e, int64_t local) {
    int64_t from = local + 1;
    int64_t day = (from >= 0 ? from : from - DAY + 1) / DAY;
    int time = (int)(from - day * DAY);

    for (int i = 0; i < SEARCH_DAYS; i++, day++, time = 0) {
        int found = day_fits(e, day) ? time_from(e, time) : -1;

        if (found >= 0)
            return day * DAY + found;
    }
    return CRON_NEVER;
}

/* The time between low and high at which the offset changes. The offset at low is before. */
static int64_t change_between(int64_t low, int64_t high, int32_t before, int32_t (*offset_at)(int64_t)) {
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;

        if (offset_at(middle) == before)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Assumes that clocks do not change twice within two days. */
static int64_t utc_of(int64_t local, int32_t (*offset_at)(int64_t)) {
    int32_t before = offset_at(local - DAY), after = offset_at(local + DAY);

    if (offset_at(local - before) == before)
        return local - before;
    if (offset_at(local - after) == after)
        return local - after;
    return change_between(local - DAY, local + DAY, before, offset_at);
}

static int64_t next_every(int64_t every, int64_t anchor, int64_t after) {
    return after < anchor ? anchor : anchor + ((after - anchor) / every + 1) * every;
}

/* Skips the second occurrence of a local time that occurs twice. */
int64_t cron_next(const struct cron_expr *e, int64_t anchor, int64_t after, int32_t (*offset_at)(int64_t)) {
    int64_t local = after + offset_at(after);
    int64_t found;

    if (e->every > 0)
        return next_every(e->every, anchor, after);
    do {
        local = next_local(e, local);
        if (local == CRON_NEVER)
            return CRON_NEVER;
        found = utc_of(local, offset_at);
    } while (found <= after);
    return found;
}
