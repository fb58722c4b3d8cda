#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "base/util.h"
#include "queue/queue.h"

/*
 * What a queue was told by QCONFIG. The settings are rows in the database, come with the queue's own
 * row, and are in force at other servers when these have heard of them. A queue for which nothing was
 * set has none here, either.
 */
enum setting {
#define QUEUE_SETTING(id, name, least, most, error) SETTING_##id,
#include "queue/settings.def"
#undef QUEUE_SETTING
    SETTING_COUNT
};

#define JOB_DEFAULT_TTL 86400 /* seconds */

const char *setting_name(enum setting which);
/* False when there is none of that name; any case will do. */
bool setting_find(struct slice name, enum setting *which) MUST_CHECK;
/* NULL, or why the text is no value of it. */
const char *setting_parse(enum setting which, struct slice text, int64_t *value) MUST_CHECK;

/* What was set; -1: nothing. */
int64_t setting_of(const struct queue *q, enum setting which);
/* What was set, or else the default; q may be NULL. */
int64_t setting_in_force(const struct queue *q, enum setting which);
/* Seconds, for a job that lives so long, in a queue for which nothing was set. */
int64_t setting_default_retry(int64_t ttl);

void settings_put(struct queue *q, enum setting which, int64_t value);
/* The one setting that is a name: where dead jobs go. Empty: nowhere. */
#define SETTING_DEADQUEUE "deadqueue"
struct slice setting_deadqueue(const struct queue *q);
void settings_put_deadqueue(struct queue *q, struct slice name);
/* Nothing is set any more. */
void settings_clear(struct queue *q);
/* Reads one row of a queue: name and value from column col on; null for a queue without settings. The first row of
 * a queue replaces all that was known. */
void settings_read(struct queue *q, const PGresult *rows, int row, int col);

#endif
