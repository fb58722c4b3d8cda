#ifndef RATE_H
#define RATE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/util.h"

/* The text of a rate: a number of jobs, and the period in which so many may start. "30" and "30/s" are a number per
 * second. Other periods are "30/m", "100/h", "5/d", "1/10s" or "2/15m". */
struct rate {
    int64_t count;
    int64_t period_s; /* 1 to RATE_PERIOD_MOST */
};

#define RATE_PERIOD_MOST 86400
#define RATE_TEXT_LEN 48

/* False if the text is no rate. The caller checks the range of the count. A rate with a period has a count of at
 * least 1. */
bool rate_parse(struct slice text, struct rate *rate) MUST_CHECK;
/* Writes the shortest text: the largest unit that divides the period, and no period of one second. */
void rate_format(struct rate rate, char text[RATE_TEXT_LEN]);

#endif
