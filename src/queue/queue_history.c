/* The history of the server and of its oldest queues: a timer that takes samples. */
#include "queue/queue_history.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/quantiles.h"
#include "base/stats.h"
#include "base/timer.h"
#include "config/config.h"
#include "config/memory_budget.h"
#include "queue/lease.h"

#define MINUTE_US (60 * US_PER_S)
/* A queue is sampled once in this number of seconds, at the second that its place in the table of queues gives. */
#define PARTS 10

const struct history_shape server_history_shapes[HISTORY_RANGES] = {
    [HISTORY_MINUTES] = { US_PER_S, 300 },
    [HISTORY_HOURS] = { MINUTE_US, 360 },
    [HISTORY_DAYS] = { 10 * MINUTE_US, 1008 },
};

const struct history_shape queue_history_shapes[HISTORY_RANGES] = {
    [HISTORY_MINUTES] = { PARTS * US_PER_S, 30 },
    [HISTORY_HOURS] = { MINUTE_US, 360 },
    [HISTORY_DAYS] = { 10 * MINUTE_US, 144 },
};

static struct {
    struct timer timer;
    struct history *server;
    int64_t queues; /* the number of queues with a history */
    int64_t second; /* the last second whose part of the queues was sampled */
} recorder;

const struct history *queue_history_of_server(void) {
    return recorder.server;
}

bool queue_has_figures(const struct queue *q) {
    return q != NULL && q->shown && !q->hidden && q->name.len < 256;
}

static struct history_figures server_figures(void) {
    return (struct history_figures){ {
        [HISTORY_LEN] = (uint64_t)queue_jobs_queued(),
        [HISTORY_ACTIVE] = lease_count(),
        [HISTORY_ADDED] = stats.jobs_added,
        [HISTORY_DELIVERED] = stats.jobs_delivered,
        [HISTORY_ACKNOWLEDGED] = stats.jobs_acked,
    } };
}

static struct history_figures queue_figures(const struct queue *q) {
    return (struct history_figures){ {
        [HISTORY_LEN] = (uint64_t)queue_len(q),
        [HISTORY_ACTIVE] = (uint64_t)queue_leased(q),
        [HISTORY_ADDED] = (uint64_t)q->counters.own.jobs_in,
        [HISTORY_DELIVERED] = (uint64_t)q->counters.own.jobs_out,
        [HISTORY_ACKNOWLEDGED] = q->counters.own_acked,
    } };
}

/* The counters of a new queue began at 0 a few seconds ago: its first slot has all of them. */
static struct history_figures first_figures(const struct queue *q) {
    if (clock_db() - q->created_us < 2 * PARTS * US_PER_S)
        return (struct history_figures){ 0 };
    return queue_figures(q);
}

/* ---- queues ---- */

size_t queue_history_bytes(void) {
    return history_bytes(queue_history_shapes) + sizeof(struct histogram) + sizeof(struct quantiles);
}

static int64_t histories_allowed(void) {
    size_t bytes = memory_budget / 64 < QUEUE_HISTORY_MAX ? memory_budget / 64 : QUEUE_HISTORY_MAX;
    int64_t fit = (int64_t)(bytes / queue_history_bytes());

    return config.metrics_queues < fit ? config.metrics_queues : fit;
}

void queue_history_drop(struct queue *q) {
    if (q->history == NULL)
        return;
    history_free(q->history);
    free(q->waits);
    free(q->recent_waits);
    q->history = NULL;
    q->waits = NULL;
    q->recent_waits = NULL;
    recorder.queues--;
    memory_change(NULL, MEMORY_HISTORY, queue_history_bytes(), 0);
}

static void queue_history_begin(struct queue *q) {
    q->history = history_new(queue_history_shapes, clock_mono(), first_figures(q));
    q->waits = xcalloc(1, sizeof *q->waits);
    q->recent_waits = xcalloc(1, sizeof *q->recent_waits);
    recorder.queues++;
    memory_change(NULL, MEMORY_HISTORY, 0, queue_history_bytes());
}

void queue_history_want(struct queue *q) {
    if (recorder.server != NULL && q->slot < QUEUE_FIGURES_SLOTS_MAX && queue_has_figures(q) &&
        recorder.queues < histories_allowed())
        queue_history_begin(q);
}

static void queue_sample(struct queue *q, int64_t allowed) {
    bool wanted = queue_has_figures(q);

    if (q->history != NULL && (!wanted || recorder.queues > allowed)) {
        queue_history_drop(q);
    } else if (q->history != NULL) {
        history_sample(q->history, clock_mono(), queue_figures(q));
    } else if (wanted && recorder.queues < allowed) {
        queue_history_begin(q);
    }
}

static void sample_part(uint32_t part, int64_t allowed) {
    for (uint32_t slot = part; slot < queue_slots() && slot < QUEUE_FIGURES_SLOTS_MAX; slot += PARTS) {
        if (queue_at(slot) != NULL)
            queue_sample(queue_at(slot), allowed);
    }
}

/* After a pause of several seconds, the parts of these seconds are sampled now, each of them once. */
static void sample_queues(int64_t second) {
    int64_t allowed = histories_allowed();

    if (recorder.second < second - PARTS)
        recorder.second = second - PARTS;
    while (recorder.second < second)
        sample_part((uint32_t)(++recorder.second % PARTS), allowed);
}

/* ---- the timer ---- */

static void set_next(void);

static void on_second(struct timer *t) {
    (void)t;
    history_sample(recorder.server, clock_mono(), server_figures());
    sample_queues(clock_mono() / US_PER_S);
    set_next();
}

/* The time is that of a full second, so that delays of the loop do not add up. */
static void set_next(void) {
    timer_set(&recorder.timer, (clock_mono() / US_PER_S + 1) * US_PER_S, on_second);
}

void queue_history_start(void) {
    recorder.server = history_new(server_history_shapes, clock_mono(), server_figures());
    set_next();
}
