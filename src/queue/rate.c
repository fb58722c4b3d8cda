/* The text of a rate: 30, 30/m, 1/10s. */
#include "queue/rate.h"

#include <stdio.h>
#include <string.h>

static const struct period_unit {
    char letter;
    int64_t seconds;
} period_units[] = { { 'd', 86400 }, { 'h', 3600 }, { 'm', 60 }, { 's', 1 } };

static int64_t unit_seconds(char letter) {
    for (size_t i = 0; i < LENGTH(period_units); i++)
        if (period_units[i].letter == letter)
            return period_units[i].seconds;
    return 0;
}

/* The text of a period ends with its unit. The number before it may be missing. */
static bool parse_period(struct slice text, int64_t *seconds) {
    int64_t unit = text.len == 0 ? 0 : unit_seconds(text.ptr[text.len - 1]);
    int64_t number = 1;

    if (unit == 0 || (text.len > 1 && !parse_int_strict((struct slice){ text.ptr, text.len - 1 }, &number)))
        return false;
    if (number < 1 || number > RATE_PERIOD_MOST / unit)
        return false;
    *seconds = number * unit;
    return true;
}

bool rate_parse(struct slice text, struct rate *rate) {
    const char *slash = text.len == 0 ? NULL : memchr(text.ptr, '/', text.len);
    size_t digits = slash == NULL ? text.len : (size_t)(slash - text.ptr);

    rate->period_s = 1;
    if (!parse_int_strict((struct slice){ text.ptr, digits }, &rate->count))
        return false;
    return slash == NULL ||
           (rate->count > 0 &&
            parse_period((struct slice){ slash + 1, text.len - digits - 1 }, &rate->period_s));
}

void rate_format(struct rate rate, char text[RATE_TEXT_LEN]) {
    const struct period_unit *unit = period_units;
    int len = snprintf(text, RATE_TEXT_LEN, "%lld", (long long)rate.count);

    if (rate.count == 0 || rate.period_s <= 1)
        return;
    while (rate.period_s % unit->seconds != 0)
        unit++;
    if (rate.period_s == unit->seconds)
        snprintf(text + len, (size_t)(RATE_TEXT_LEN - len), "/%c", unit->letter);
    else
        snprintf(text + len, (size_t)(RATE_TEXT_LEN - len), "/%lld%c",
                 (long long)(rate.period_s / unit->seconds), unit->letter);
}
