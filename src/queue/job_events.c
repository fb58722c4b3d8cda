/* Job events: publishes what happens to the jobs of a queue. */
#include "queue/job_events.h"

#include "base/buf.h"
#include "net/pubsub.h"
#include "queue/delivery.h"

static const char *const event_names[] = {
#define X(id, name) name,
    JOB_EVENTS(X)
#undef X
};

/* send: pubsub_publish() or pubsub_deliver(). */
static void event_send_by(size_t (*send)(struct slice channel, struct slice message), const char *prefix,
                          struct slice queue, struct slice message) {
    struct buf channel = { 0 };

    buf_append_str(&channel, prefix);
    buf_append(&channel, queue.ptr, queue.len);
    (void)send((struct slice){ buf_ptr(&channel), buf_len(&channel) }, message);
    buf_free(&channel);
}

static void event_send(const char *prefix, struct slice queue, struct slice message) {
    event_send_by(pubsub_publish, prefix, queue, message);
}

void event_of_id(const struct queue *q, enum job_event event, struct slice id) {
    struct buf message = { 0 };

    buf_printf(&message, "%s %.*s", event_names[event], (int)id.len, id.ptr);
    event_send(EVENTS_PREFIX, q->name, (struct slice){ buf_ptr(&message), buf_len(&message) });
    buf_free(&message);
}

void event_of_progress(const struct queue *q, struct slice id, int64_t percent, struct slice text) {
    struct buf message = { 0 };

    buf_printf(&message, "progress %.*s %lld", (int)id.len, id.ptr, (long long)percent);
    if (text.len > 0) {
        buf_append(&message, " ", 1);
        buf_append(&message, text.ptr, text.len);
    }
    event_send(EVENTS_PREFIX, q->name, (struct slice){ buf_ptr(&message), buf_len(&message) });
    buf_free(&message);
}

static void cancel_send_by(size_t (*send)(struct slice channel, struct slice message), struct slice queue,
                           struct job_key key, int64_t expires_at, int32_t retry) {
    char id[JOBID_LEN];

    if (queue.ptr == NULL || queue.len > EVENTS_NAME_MAX)
        return;
    job_format_id(id, key, expires_at, retry);
    event_send_by(send, CANCEL_PREFIX, queue, (struct slice){ id, sizeof id });
}

void event_of_cancel(struct slice queue, struct job_key key, int64_t expires_at, int32_t retry) {
    cancel_send_by(pubsub_publish, queue, key, expires_at, retry);
}

void event_of_cancel_here(struct slice queue, struct job_key key, int64_t expires_at, int32_t retry) {
    cancel_send_by(pubsub_deliver, queue, key, expires_at, retry);
}

void event_of_job(const struct queue *q, enum job_event event, struct job_key key, int64_t expires_at,
                  int32_t retry) {
    char id[JOBID_LEN];

    job_format_id(id, key, expires_at, retry);
    event_of_id(q, event, (struct slice){ id, sizeof id });
}

void events_of_taken(const struct queue *q, struct job_key key, int64_t expires_at, int32_t retry) {
    if (!events_wanted(q))
        return;
    event_of_job(q, EVENT_DELIVERED, key, expires_at, retry);
    event_of_job(q, EVENT_ACKED, key, expires_at, retry);
}
