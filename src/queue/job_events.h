#ifndef JOB_EVENTS_H
#define JOB_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/job_key.h"
#include "queue/queue.h"
#include "queue/settings.h"

/*
 * Job events: messages (pubsub.h) about the jobs of a queue, such as "added D-...", on the channel
 * "__job__:<queue>". They are sent if QCONFIG events is 1, at most once, like all messages. The server that
 * changed the job sends them.
 */
#define JOB_EVENTS(X)               \
    X(EVENT_ADDED, "added")         \
    X(EVENT_DELIVERED, "delivered") \
    X(EVENT_ACKED, "acked")         \
    X(EVENT_NACKED, "nacked")       \
    X(EVENT_DEAD, "dead")           \
    X(EVENT_EXPIRED, "expired")     \
    X(EVENT_CANCELLED, "cancelled")

enum job_event {
#define X(id, name) id,
    JOB_EVENTS(X)
#undef X
};

/* A queue with a longer name sends no events, because the name of its channel would be too long. */
#define EVENTS_NAME_MAX 1000

/* True if events of the queue are to be sent. q may be NULL. */
static inline bool events_wanted(const struct queue *q) {
    return q != NULL && q->settings != NULL && setting_of(q, SETTING_EVENTS) > 0 &&
           q->name.len <= EVENTS_NAME_MAX;
}

/* Sends an event. Call it only if events_wanted(q). */
void event_of_job(const struct queue *q, enum job_event event, struct job_key key, int64_t expires_at,
                  int32_t retry);
/* Sends the events of a job that a list command has taken: delivered and acknowledged. Checks
 * events_wanted(q). */
void events_of_taken(const struct queue *q, struct job_key key, int64_t expires_at, int32_t retry);
/* Sends "progress <id> <percent> <text>". Call it only if events_wanted(q). */
void event_of_progress(const struct queue *q, struct slice id, int64_t percent, struct slice text);
/* Tells the worker of a running job that it is cancelled: sends the ID on the channel CANCEL_PREFIX<queue>, whatever
 * QCONFIG events says. queue: the name; .ptr NULL: no message. */
void event_of_cancel(struct slice queue, struct job_key key, int64_t expires_at, int32_t retry);
/* The same, only for the clients of this server: each server has received the cancellation. */
void event_of_cancel_here(struct slice queue, struct job_key key, int64_t expires_at, int32_t retry);
/* Like event_of_job(), with the ID as a client gave it. */
void event_of_id(const struct queue *q, enum job_event event, struct slice id);

#endif
