/* The history of the server and of some queues: a timer that takes samples. */
#include "queue/queue_history.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/stats.h"
#include "base/timer.h"
#include "config/config.h"
#include "config/memory_budget.h"
#include "queue/lease.h"

#define MINUTE_US (60 * US_PER_S)
/* A queue is sampled once in this number of seconds, at the second that its place in the table of queues gives. */
#define PARTS 10
/* The most queues whose history is kept because HISTORY asked for it. */
#define ASKED_MAX 100
/* A queue does not give way to another one until HISTORY has not asked for it for this time. */
#define ASKED_US (10 * MINUTE_US)

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
    int64_t queues; /* the number of queues that have a history because they are the oldest ones */
    int64_t second; /* the last second whose part of the queues was sampled */
    struct queue *asked[ASKED_MAX]; /* queues that have a history because HISTORY asked for it; NULL: free */
    int64_t asked_count;
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
        [HISTORY_FAILED] = stats.jobs_failed,
        [HISTORY_DIED] = stats.jobs_dead,
    } };
}

static struct history_figures queue_figures(const struct queue *q) {
    return (struct history_figures){ {
        [HISTORY_LEN] = (uint64_t)queue_len(q),
        [HISTORY_ACTIVE] = (uint64_t)queue_leased(q),
        [HISTORY_ADDED] = (uint64_t)q->counters.own->share.jobs_in,
        [HISTORY_DELIVERED] = (uint64_t)q->counters.own->share.jobs_out,
        [HISTORY_ACKNOWLEDGED] = q->counters.own->acked,
        [HISTORY_FAILED] = q->counters.own->failed,
        [HISTORY_DIED] = q->counters.own->died,
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
    return history_bytes(queue_history_shapes) + sizeof(struct histogram);
}

/* The number of histories that the memory allows. */
static int64_t histories_fit(void) {
    size_t bytes = memory_budget / 64 < QUEUE_HISTORY_MAX ? memory_budget / 64 : QUEUE_HISTORY_MAX;

    return (int64_t)(bytes / queue_history_bytes());
}

/* The number of the oldest queues with a history. */
static int64_t histories_allowed(void) {
    int64_t fit = histories_fit();

    return config.metrics_queues < fit ? config.metrics_queues : fit;
}

/* The history is kept because the queue is one of the oldest. */
static void history_unask(struct queue *q) {
    for (size_t i = 0; i < ASKED_MAX; i++) {
        if (recorder.asked[i] == q)
            recorder.asked[i] = NULL;
    }
    recorder.asked_count--;
    recorder.queues++;
    q->asked_us = 0;
}

void queue_history_drop(struct queue *q) {
    if (q->history == NULL)
        return;
    if (q->asked_us != 0)
        history_unask(q);
    history_free(q->history);
    free(q->waits);
    q->history = NULL;
    q->waits = NULL;
    recorder.queues--;
    memory_change(NULL, MEMORY_HISTORY, queue_history_bytes(), 0);
}

static void queue_history_begin(struct queue *q) {
    q->history = history_new(queue_history_shapes, clock_mono(), first_figures(q));
    q->waits = xcalloc(1, sizeof *q->waits);
    recorder.queues++;
    memory_change(NULL, MEMORY_HISTORY, 0, queue_history_bytes());
}

static bool may_have_history(const struct queue *q) {
    return recorder.server != NULL && q->slot < QUEUE_FIGURES_SLOTS_MAX && queue_has_figures(q);
}

void queue_history_want(struct queue *q) {
    if (may_have_history(q) && recorder.queues < histories_allowed())
        queue_history_begin(q);
}

/* A place for a queue that HISTORY asks for. The queue that it has not asked for the longest time gives way. NULL: it has
 * asked for each of them lately. */
static struct queue **asked_place(void) {
    struct queue **oldest = &recorder.asked[0];

    for (size_t i = 0; i < ASKED_MAX; i++) {
        if (recorder.asked[i] == NULL)
            return &recorder.asked[i];
        if (recorder.asked[i]->asked_us < (*oldest)->asked_us)
            oldest = &recorder.asked[i];
    }
    if (clock_mono() - (*oldest)->asked_us < ASKED_US)
        return NULL;
    queue_history_drop(*oldest);
    return oldest;
}

static void begin_asked(struct queue *q) {
    struct queue **place = asked_place();

    if (place == NULL || recorder.queues + recorder.asked_count >= histories_fit())
        return;
    queue_history_begin(q);
    recorder.queues--;
    recorder.asked_count++;
    *place = q;
    q->asked_us = clock_mono();
}

void queue_history_ask(struct queue *q) {
    if (q->asked_us != 0)
        q->asked_us = clock_mono();
    else if (q->history == NULL && may_have_history(q))
        begin_asked(q);
}

/* True if more histories of this kind exist than are allowed. */
static bool is_one_too_many(const struct queue *q, int64_t allowed) {
    return q->asked_us != 0 ? recorder.queues + recorder.asked_count > histories_fit()
                            : recorder.queues > allowed;
}

static void queue_sample(struct queue *q, int64_t allowed) {
    bool wanted = queue_has_figures(q);

    if (q->history != NULL && (!wanted || is_one_too_many(q, allowed))) {
        queue_history_drop(q);
    } else if (q->history != NULL) {
        if (q->asked_us != 0 && recorder.queues < allowed)
            history_unask(q);
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
