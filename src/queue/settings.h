#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "base/util.h"
#include "queue/queue.h"

/*
 * The settings of queues (QCONFIG). They are rows in the database and are loaded with the queue's row. Peers
 * apply a change when they get its notification. A queue without settings has no struct queue_settings.
 */
enum setting {
#define QUEUE_SETTING(id, name, least, most, error) SETTING_##id,
#include "queue/settings.def"
#undef QUEUE_SETTING
    SETTING_COUNT
};
/* The number of settings that clients name. They come first. */
#define SETTING_SHOWN SETTING_RATE_PERIOD

#define JOB_DEFAULT_TTL 86400 /* seconds */

const char *setting_name(enum setting which);
/* False if there is no setting of that name. Upper and lower case are equal. */
bool setting_find(struct slice name, enum setting *which) MUST_CHECK;
/* The setting that has the period of a rate in seconds. False if `which` is no rate. */
bool setting_period(enum setting which, enum setting *period) MUST_CHECK;
/* NULL, or the error if the text is no valid value. period_s: of a rate; else 1. */
const char *setting_parse(enum setting which, struct slice text, int64_t *value,
                          int64_t *period_s) MUST_CHECK;
/* Writes the text of a value as the database keeps it: digits, or a word. */
#define SETTING_TEXT_LEN 48
void setting_format(enum setting which, int64_t value, char text[SETTING_TEXT_LEN]);
/* Writes the text of the value in force as clients see it: a rate has its period. q may be NULL. */
void setting_show(const struct queue *q, enum setting which, char text[SETTING_TEXT_LEN]);

/* The value that was set; -1 if none was set. q may be NULL. */
int64_t setting_of(const struct queue *q, enum setting which);
/* The value that was set, or the default. q may be NULL. */
int64_t setting_in_force(const struct queue *q, enum setting which);
/* The default retry in seconds, for a job with that time to live in seconds. */
int64_t setting_default_retry(int64_t ttl);

void settings_put(struct queue *q, enum setting which, int64_t value);
/* The only setting that is a name: the queue that dead letters go to. Empty: none. */
#define SETTING_DEADQUEUE "deadqueue"
struct slice setting_deadqueue(const struct queue *q);
void settings_put_deadqueue(struct queue *q, struct slice name);
/* Removes all settings. */
void settings_clear(struct queue *q);
/* Reads one setting of a queue from a row: name and value from column col on, null for a queue without
 * settings. The first row of a queue replaces all its settings. */
void settings_read(struct queue *q, const PGresult *rows, int row, int col);

#endif
