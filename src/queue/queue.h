#ifndef QUEUE_H
#define QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/compact_table.h"
#include "base/job_key.h"
#include "base/list.h"
#include "base/saturate.h"
#include "base/timer.h"
#include "base/util.h"
#include "queue/queue_counters.h"
#include "queue/queue_work.h"
#include "queue/scan_position.h"

/*
 * A queue in memory. The jobs are in the database. Here are the counters that clients see (queue_counters.h), the
 * waiters, and the scan position, which tells where the next claim looks (scan_position.h, queue_ready.h).
 */
enum queue_pause { PAUSE_IN = 1, PAUSE_OUT = 2 };

struct claim_ahead;
struct histogram;
struct quantiles;
struct history;
struct queue_settings;

/* The ends of a list; list_orientation.h. */
enum list_end { END_NONE, END_LEFT, END_RIGHT };

/* The queue of HEALTH. It is not listed and no pattern matches it, but commands can name it. */
#define QUEUE_HIDDEN "__health__"

enum limit_state {
    LIMIT_OPEN,  /* claims may be sent */
    LIMIT_FULL,  /* max-active is reached: do not claim */
    LIMIT_PACED, /* do not claim before the next token, even if a slot becomes free */
};

/* Limits of a queue; queue_limits.h.
 * Written by queue_limits.c. */
struct queue_limits {
    struct queue *q;
    bool limited;        /* the queue has max-active or rate, over all groups */
    bool is_held_back;   /* it has these, or server_most: claims decide which jobs start */
    int64_t server_most; /* the most jobs that this server may have delivered and that run; 0: no limit */
    enum limit_state state;
    uint64_t slots_freed; /* how often a concurrency slot may have become free */
    struct timer look;    /* the next claim without a notification */
    int64_t look_wait_us; /* the last wait until `look` */
};

/* The limits of all queues that have had none. */
extern const struct queue_limits queue_unlimited;

/* The queue as a list; list_orientation.h.
 * Written by list_orientation.c. */
struct list_ends {
    enum list_end consume_end : 2; /* END_NONE: not set, or not read yet */
    unsigned unset_in : 30;        /* the period without peers in which it was read as not set; 0: in none */
};

/* How far pattern_index.c has compared the name of the queue with all patterns. */
enum name_match { NAME_NOT_MATCHED, NAME_IN_STEPS, NAME_MATCHED };

/* The patterns that match the name of the queue.
 * Written by pattern_index.c. */
struct queue_matches {
    uint64_t *patterns; /* a set of indexes; NULL: none was compared */
};

/* Its jobs that wait for predecessors; waiting_count() reads it.
 * Written by waiting_count.c. */
struct queue_after {
    int64_t jobs;
    uint64_t pass; /* the pass that counted them */
};

/* A queue. */
struct queue {
    struct compact_link by_name;
    struct compact_link by_id; /* in a table if id is not 0 */
    struct slice name;         /* its bytes are behind this struct */
    int32_t id;                /* 0: no row in the database yet */
    uint32_t slot;             /* index in the table of all queues, the order of QSCAN */
    int64_t users;      /* number of requests that point to this object; it is not freed before that is 0 */
    int64_t created_us; /* clock_db() */
    uint64_t served;    /* when the queue was last served among several queues */
    uint64_t weighed;   /* its position among queues with weights; turns.c */
    int64_t named_us;   /* clock_mono() when a command last named it; unused queues are forgotten */
    bool hidden;        /* QUEUE_HIDDEN */
    bool shown;         /* clients see it, queue_show(); false while it has had no job and no other use */
    uint8_t matched;    /* enum name_match */
    uint8_t pause;      /* enum queue_pause */
    struct list_ends list;
    struct list in_rowless;          /* in the list of queues without a row */
    struct queue_settings *settings; /* NULL: nothing was set; settings.h */
    struct history *history;         /* NULL: none; queue_history.h */
    int64_t asked_us;        /* clock_mono() when HISTORY last asked for it; 0: it is kept without that */
    struct histogram *waits; /* NULL: none; the waits of its jobs until their first delivery */
    struct quantiles *recent_waits; /* NULL: none; queue_latency.h */
    int32_t leases;                 /* leases of its jobs that this server watches */
    int32_t own_leases;             /* the part of them that this server gave */
    int64_t swept_id; /* jobs with smaller numbers and the default TTL have been expired; expire.c */
    int64_t left_id;  /* except some, of which this is the first; 0: none */
    struct queue_counters counters;
    struct scan_position scan;
    const struct queue_work *work; /* queue_idle, or its own record; queue_work.h */
    struct claim_ahead *ahead;     /* NULL: no jobs are ahead; written by claim_ahead.c */
    struct queue_after after;
    struct queue_matches matches;
    const struct queue_limits *limits; /* queue_unlimited, or its own */
};

void queue_init(void);
/* NULL if this server has no such queue. */
struct queue *queue_find(struct slice name);
struct queue *queue_find_id(int32_t id);
/* Finds or creates the queue. A new one has no row in the database until it needs one. */
struct queue *queue_get(struct slice name);
/* The same after queue_find(). found: its result. */
struct queue *queue_use(struct queue *found, struct slice name);
void queue_set_id(struct queue *q, int32_t id);
/* Frees the queue. It must have no waiters and no users. */
void queue_drop(struct queue *q);
/* Called after all jobs were deleted. Resets all queues. Then clients see only queues with waiters by name. */
void queue_clear(void);
size_t queue_count(void);
/* Makes the queue visible to clients. */
void queue_show(struct queue *q);
/* The number of queues that clients see, without QUEUE_HIDDEN. */
size_t queue_shown(void);
/* True if the queue has no jobs, and no request points to it. */
bool queue_is_unused(const struct queue *q);
/* The memory of the queue on this server while it is in use, in bytes. */
size_t queue_memory(const struct queue *q);
/* The memory of all queues on this server while they are not in use, with their settings, in bytes. */
size_t queues_memory(void);
/* Counts the memory of settings: they had so many bytes before, and have so many now. */
void queue_grew(size_t before, size_t bytes);
/* True if queues_memory() is more than maxmemory-queues: no queue gets a row, except QUEUE_HIDDEN. */
bool queues_are_full(void);
/* A command that waits for a name creates a queue without a row. If these queues take more than 8 MB, this
 * frees the oldest unused ones. Do not call it while a pointer to a queue is not counted in its users. It
 * takes a bounded time; queues_tick() lets it check more queues. False: it has not checked all of them. */
bool queues_forget_rowless(void);
void queues_tick(void);
/* Ends the use of a queue by a request that waited for it. If the queue has no row and no users,
 * queues_forget_rowless() checks it next. */
void queue_unwait(struct queue *q);
/* The queue at an index, or NULL; indexes are less than queue_slots(). */
struct queue *queue_at(uint32_t slot);
uint32_t queue_slots(void);
#define QUEUE_EACH(q)                                        \
    for (uint32_t slot_ = 0; slot_ < queue_slots(); slot_++) \
        for (struct queue *q = queue_at(slot_); q != NULL; q = NULL)

/* The length that clients see: the jobs ahead count as queued. len can be negative for a moment, because changes of
 * several servers arrive in any order. */
static inline int64_t queue_len(const struct queue *q) {
    return int64_at_least_zero(q->counters.len + q->counters.ahead);
}
/* The same for the other states. */
static inline int64_t queue_delayed(const struct queue *q) {
    return int64_at_least_zero(q->counters.delayed);
}
static inline int64_t queue_waiting(const struct queue *q) {
    return int64_at_least_zero(q->counters.waiting);
}
static inline int64_t queue_dead(const struct queue *q) {
    return int64_at_least_zero(q->counters.dead);
}
/* Jobs that clients of all servers have: delivered, and neither queued again nor ended. */
static inline int64_t queue_active(const struct queue *q) {
    const struct queue_counters *c = &q->counters;

    return int64_at_least_zero(c->total - c->len - c->ahead - c->delayed - c->waiting);
}
/* The part of them that this server has delivered and whose leases run. */
static inline int64_t queue_leased(const struct queue *q) {
    return q->leases - q->counters.ahead;
}

/* Sets q->pause. Do not set the field directly. */
void queue_set_pause(struct queue *q, unsigned pause);
/* True if no claim may be sent, because the queue is paused out or about to be. */
static inline bool queue_is_shut(const struct queue *q) {
    return (q->pause & PAUSE_OUT) != 0 || q->work->pausing > 0;
}
/* A word for q->pause: none, in, out or all. */
const char *queue_pause_name(unsigned pause);
/* The queues that are paused in: struct queue_work, linked by in_paused. */
struct list *queue_paused_in(void);

#endif
