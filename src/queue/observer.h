#ifndef OBSERVER_H
#define OBSERVER_H

#include <stdbool.h>
#include <stdint.h>
#include "base/job_key.h"

struct queue;

/*
 * Observer of committed changes. cluster/outbox.c notifies peers of them. Without peers there is no observer, and a
 * change costs one branch. The changes are hints: everything that must not be lost is in the database.
 */
struct queue_observer {
    /* This server has changed the counters of the queue. */
    void (*counted)(struct queue *q);
    /* That many jobs are ready. first: the smallest of their keys. */
    void (*ready)(struct queue *q, struct job_key first, int64_t count);
    /* The job is ready again. */
    void (*returned)(struct job_key key);
    /* A lease or delay that another server may watch has ended early. row_until: its end in the row before the
     * change. gone: the job was deleted. */
    void (*lease_ended)(struct job_key key, int64_t row_until, bool gone);
    /* The job has ended; how: enum job_exit. */
    void (*job_ended)(struct job_key key, int how);
    /* A limited queue has a free concurrency slot. */
    void (*room)(struct queue *q);
    /* The row of the queue has changed. */
    void (*row_changed)(int32_t queue_id);
    /* Jobs of a queue that is not known here have changed, and could not be counted. */
    void (*uncounted)(int32_t queue_id);
};

/* NULL: there is no observer. */
extern const struct queue_observer *queue_observer;

/* Calls a function of the observer: OBSERVE(ready, q, first, count). */
#define OBSERVE(function, ...)                           \
    do {                                                 \
        if (__builtin_expect(queue_observer != NULL, 0)) \
            queue_observer->function(__VA_ARGS__);       \
    } while (0)

/* Announcements are sent even before the first peer is known. */
enum announcement {
    ANNOUNCE_FLUSHED = 1,   /* all jobs were deleted */
    ANNOUNCE_SCHEDULES = 2, /* schedules have changed */
    ANNOUNCE_AWAITS = 4,    /* clients wait for the ends of jobs: announce these for a while */
};

/* The announcements that were not sent yet, a set of enum announcement. */
extern unsigned queue_announced;

#endif
