/* Settings of queues (QCONFIG): names, ranges, defaults, and the values in force. */
#include "queue/settings.h"

#include <stdio.h>
#include <stdlib.h>

#include "pg/params.h"
#include "queue/queue_limits.h"
#include "queue/rate.h"
#include "sql_gen.h"

#define DEFAULT_RETRY 300
#define UNSET (-1)
/* The end of the error for a wrong rate. */
#define RATE_FORM ", or with a period of up to a day, as 30/m or 1/10s"

struct queue_settings {
    int64_t values[SETTING_COUNT];
    struct slice deadqueue; /* ptr NULL: not set */
};

struct row {
    const char *name;
    int64_t least;
    int64_t most;
    const char *error;
};

static const struct row settings[] = {
#define QUEUE_SETTING(id, name, least, most, error) { name, least, most, error },
#include "queue/settings.def"
#undef QUEUE_SETTING
};

const char *setting_name(enum setting which) {
    return settings[which].name;
}

bool setting_find(struct slice name, enum setting *which) {
    for (size_t i = 0; i < LENGTH(settings); i++) {
        if (slice_is(name, settings[i].name)) {
            *which = (enum setting)i;
            return true;
        }
    }
    return false;
}

static const char *const expired_words[] = { "drop", "dead" };

static bool parse_word(struct slice text, int64_t *value) {
    for (size_t i = 0; i < LENGTH(expired_words); i++) {
        if (slice_is(text, expired_words[i])) {
            *value = (int64_t)i;
            return true;
        }
    }
    return false;
}

bool setting_period(enum setting which, enum setting *period) {
    *period = which == SETTING_RATE ? SETTING_RATE_PERIOD : SETTING_GROUP_RATE_PERIOD;
    return which == SETTING_RATE || which == SETTING_GROUP_RATE;
}

const char *setting_parse(enum setting which, struct slice text, int64_t *value, int64_t *period_s) {
    const struct row *row = &settings[which];
    struct rate rate = { .period_s = 1 };
    enum setting period;
    bool fits = which == SETTING_EXPIRED         ? parse_word(text, &rate.count)
                : setting_period(which, &period) ? rate_parse(text, &rate)
                                                 : parse_int_strict(text, &rate.count);

    *value = rate.count;
    *period_s = rate.period_s;
    return fits && rate.count >= row->least && rate.count <= row->most ? NULL : row->error;
}

void setting_format(enum setting which, int64_t value, char text[SETTING_TEXT_LEN]) {
    if (which == SETTING_EXPIRED)
        snprintf(text, SETTING_TEXT_LEN, "%s", expired_words[value != 0]);
    else
        snprintf(text, SETTING_TEXT_LEN, "%lld", (long long)value);
}

void setting_show(const struct queue *q, enum setting which, char text[SETTING_TEXT_LEN]) {
    enum setting period;

    if (setting_period(which, &period))
        rate_format((struct rate){ setting_in_force(q, which), setting_in_force(q, period) }, text);
    else
        setting_format(which, setting_in_force(q, which), text);
}

int64_t setting_of(const struct queue *q, enum setting which) {
    return q == NULL || q->settings == NULL ? UNSET : q->settings->values[which];
}

/* A tenth of the TTL, at least one second and at most five minutes. */
int64_t setting_default_retry(int64_t ttl) {
    int64_t retry = ttl / 10 < DEFAULT_RETRY ? ttl / 10 : DEFAULT_RETRY;

    return retry > 0 ? retry : 1;
}

int64_t setting_in_force(const struct queue *q, enum setting which) {
    int64_t value = setting_of(q, which);

    if (value != UNSET)
        return value;
    if (which == SETTING_TTL)
        return JOB_DEFAULT_TTL;
    if (which == SETTING_RETRY)
        return setting_default_retry(setting_in_force(q, SETTING_TTL));
    return settings[which].least;
}

struct slice setting_deadqueue(const struct queue *q) {
    struct slice none = { 0 };

    return q == NULL || q->settings == NULL ? none : q->settings->deadqueue;
}

static struct queue_settings *settings_of(struct queue *q) {
    if (q->settings == NULL) {
        q->settings = xcalloc(1, sizeof *q->settings);
        queue_grew(0, sizeof *q->settings);
        for (size_t i = 0; i < SETTING_COUNT; i++)
            q->settings->values[i] = UNSET;
    }
    return q->settings;
}

void settings_put_deadqueue(struct queue *q, struct slice name) {
    struct queue_settings *s = settings_of(q);

    queue_grew(s->deadqueue.len, name.len);
    free((char *)s->deadqueue.ptr);
    s->deadqueue.ptr = name.len == 0 ? NULL : xmemdup(name.ptr, name.len);
    s->deadqueue.len = name.len;
    queue_show(q);
}

void settings_put(struct queue *q, enum setting which, int64_t value) {
    settings_of(q)->values[which] = value;
    queue_show(q);
    limits_set(q);
}

void settings_clear(struct queue *q) {
    if (q->settings != NULL) {
        queue_grew(sizeof *q->settings + q->settings->deadqueue.len, 0);
        free((char *)q->settings->deadqueue.ptr);
    }
    free(q->settings);
    q->settings = NULL;
    limits_set(q);
}

/* Ignores settings that only a newer server knows. */
void settings_read(struct queue *q, const PGresult *rows, int row, int col) {
    enum setting which;
    int64_t value, period_s;

    if (row == 0 || row_int4(rows, row, COL_FIND_QUEUES_ID) != row_int4(rows, row - 1, COL_FIND_QUEUES_ID))
        settings_clear(q);
    if (row_null(rows, row, col))
        return;
    if (slice_is(row_bytes(rows, row, col), SETTING_DEADQUEUE))
        settings_put_deadqueue(q, row_bytes(rows, row, col + 1));
    else if (setting_find(row_bytes(rows, row, col), &which) &&
             setting_parse(which, row_bytes(rows, row, col + 1), &value, &period_s) == NULL)
        settings_put(q, which, value);
}
