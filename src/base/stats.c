/* The server's counters, their INFO text, and rates over the last 1.6 seconds. */
#include "base/stats.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

struct stats stats;
struct histogram stats_waits;
struct quantiles stats_recent_waits;
struct histogram stats_commits;

static const struct counter {
    const char *name;
    const uint64_t *value;
} counters[] = {
#define X(name, doc) { #name, &stats.name },
    STATS_COUNTERS(X) STATS_MAXIMA(X)
#undef X
};

/* The rates, and the counters that they are computed from. */
#define RATES(X)                    \
    X(RATE_OPS, commands_processed) \
    X(RATE_INPUT, net_input_bytes)  \
    X(RATE_OUTPUT, net_output_bytes)

enum rate {
#define X(id, counter) id,
    RATES(X)
#undef X
        RATE_COUNT
};

/* Ten samples a second: 1.6 seconds lie between the oldest and the newest. */
#define SAMPLES 17

struct sample {
    int64_t at_us;
    uint64_t values[RATE_COUNT];
};

static struct sample samples[SAMPLES];
static size_t taken; /* since the start or the last reset */

void stats_info(struct buf *out) {
    for (size_t i = 0; i < LENGTH(counters); i++)
        buf_printf(out, "%s:%" PRIu64 "\r\n", counters[i].name, *counters[i].value);
}

/* The most codes that are counted. The limit is needed because DEBUG ERROR can reply any code. */
#define CODES_MAX 64
#define CODE_SIZE 24

static struct error_code {
    char code[CODE_SIZE];
    uint64_t count;
} codes[CODES_MAX];

static size_t code_count;

static bool is_code(const char *text, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (text[i] < 'A' || text[i] > 'Z')
            return false;
    }
    return len > 0 && len < CODE_SIZE;
}

void stats_count_error(const char *text) {
    size_t len = strcspn(text, " ");
    size_t i = 0;

    if (!is_code(text, len)) {
        text = "ERR";
        len = strlen(text);
    }
    stats.errors_replied++;
    while (i < code_count && (strncmp(codes[i].code, text, len) != 0 || codes[i].code[len] != '\0'))
        i++;
    if (i == CODES_MAX)
        return;
    if (i == code_count) {
        memcpy(codes[i].code, text, len);
        codes[i].code[len] = '\0';
        code_count++;
    }
    codes[i].count++;
}

void stats_errors_info(struct buf *out) {
    for (size_t i = 0; i < code_count; i++)
        buf_printf(out, "errorstat_%s:count=%" PRIu64 "\r\n", codes[i].code, codes[i].count);
}

/* Removes the samples as well, because a rate over the reset would be wrong. */
void stats_reset(void) {
    stats = (struct stats){ 0 };
    stats_waits = stats_commits = (struct histogram){ 0 };
    stats_recent_waits = (struct quantiles){ 0 };
    taken = 0;
    memset(codes, 0, sizeof codes);
    code_count = 0;
}

void stats_sample(int64_t mono_us) {
    struct sample *s = &samples[taken++ % SAMPLES];

    s->at_us = mono_us;
#define X(id, counter) s->values[id] = stats.counter;
    RATES(X)
#undef X
}

static double per_second(enum rate which) {
    const struct sample *newest, *oldest;
    int64_t us;

    if (taken < 2)
        return 0;
    newest = &samples[(taken - 1) % SAMPLES];
    oldest = &samples[taken <= SAMPLES ? 0 : taken % SAMPLES];
    us = newest->at_us - oldest->at_us;
    if (us <= 0)
        return 0;
    return (double)(newest->values[which] - oldest->values[which]) * 1e6 / (double)us;
}

uint64_t stats_ops_per_sec(void) {
    return (uint64_t)(per_second(RATE_OPS) + 0.5);
}

double stats_input_kbps(void) {
    return per_second(RATE_INPUT) / 1024;
}

double stats_output_kbps(void) {
    return per_second(RATE_OUTPUT) / 1024;
}
