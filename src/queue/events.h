#ifndef EVENTS_H
#define EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/jobid.h"
#include "queue/queue.h"
#include "queue/settings.h"

/*
 * What happens to the jobs of a queue, as messages (pubsub.h) on the channel "__job__:" and its name: "added D-...".
 * Only when QCONFIG says so, and at most once, as all messages. Told by the server that did it.
 */
#define JOB_EVENTS(X)               \
    X(EVENT_ADDED, "added")         \
    X(EVENT_DELIVERED, "delivered") \
    X(EVENT_ACKED, "acked")         \
    X(EVENT_NACKED, "nacked")       \
    X(EVENT_DEAD, "dead")           \
    X(EVENT_EXPIRED, "expired")

enum job_event {
#define X(id, name) id,
    JOB_EVENTS(X)
#undef X
};

/* A queue with a longer name tells nothing: the name of its channel would be too long. */
#define EVENTS_NAME_MAX 1000

/* q may be NULL. */
static inline bool events_wanted(const struct queue *q) {
    return q != NULL && q->settings != NULL && setting_of(q, SETTING_EVENTS) > 0 &&
           q->name.len <= EVENTS_NAME_MAX;
}

/* For those that are wanted. */
void event_of_job(const struct queue *q, enum job_event event, struct job_key key, int64_t expires_at,
                  int32_t retry);
/* A list command has taken the job away: delivered and acknowledged at once. Also for those that are not wanted. */
void events_of_taken(const struct queue *q, struct job_key key, int64_t expires_at, int32_t retry);
/* As event_of_job() for a job whose ID was given by a client. */
void event_of_id(const struct queue *q, enum job_event event, struct slice id);

#endif
