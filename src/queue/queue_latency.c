/* The latencies of the last minutes of each queue that delivers jobs. */
#include "queue/queue_latency.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/quantiles.h"
#include "config/memory_budget.h"

struct latency_of {
    struct list link;
    struct queue *q;
    int64_t noted_us; /* clock_mono() of the last delivery */
    struct quantiles waits;
};

static struct {
    struct list all; /* the queue whose last delivery is the oldest comes first */
    size_t count;
} latencies = { .all = { &latencies.all, &latencies.all } };

static struct latency_of *latency_of_link(struct list *link) {
    return CONTAINER_OF(link, struct latency_of, link);
}

size_t queue_latency_bytes(void) {
    return sizeof(struct latency_of);
}

static void latency_free(struct latency_of *l) {
    list_remove(&l->link);
    l->q->recent_waits = NULL;
    free(l);
    latencies.count--;
    memory_change(NULL, MEMORY_HISTORY, sizeof *l, 0);
}

static bool latency_fits(void) {
    size_t most = memory_budget / 64 < QUEUE_LATENCY_MAX ? memory_budget / 64 : QUEUE_LATENCY_MAX;

    return (latencies.count + 1) * sizeof(struct latency_of) <= most;
}

/* NULL: there is no room. */
static struct latency_of *latency_of_queue(struct queue *q) {
    struct latency_of *l;

    if (q->recent_waits != NULL)
        return CONTAINER_OF(q->recent_waits, struct latency_of, waits);
    if (!latency_fits())
        return NULL;
    l = xcalloc(1, sizeof *l);
    list_init(&l->link);
    l->q = q;
    q->recent_waits = &l->waits;
    latencies.count++;
    memory_change(NULL, MEMORY_HISTORY, 0, sizeof *l);
    return l;
}

void queue_latency_note(struct queue *q, int64_t wait_us) {
    struct latency_of *l = latency_of_queue(q);

    if (l == NULL)
        return;
    quantiles_add(&l->waits, clock_mono(), wait_us);
    l->noted_us = clock_mono();
    list_remove(&l->link);
    list_push_back(&latencies.all, &l->link);
}

void queue_latency_free_idle(void) {
    LIST_EACH_SAFE(link, &latencies.all) {
        if (clock_mono() - latency_of_link(link)->noted_us < 2 * QUANTILE_WINDOW_US)
            break;
        latency_free(latency_of_link(link));
    }
}

void queue_latency_drop(struct queue *q) {
    if (q->recent_waits != NULL)
        latency_free(latency_of_queue(q));
}
