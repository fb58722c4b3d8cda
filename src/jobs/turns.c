/* Order of queues in a request: in turn, STRICT, or by WEIGHTS. */
#include "jobs/turns.h"

#include "queue/queue_ready.h"

/* The distance that a queue of weight 1 advances with each job. Every weight divides it without a large error. */
#define STRIDE (UINT64_C(1) << 20)

bool turn_has_more(struct queue *q) {
    return queue_budget(q) > q->work->claims.planned;
}

bool turn_is_open(struct queue *q) {
    return !q->work->row.opening && turn_has_more(q);
}

static bool may_serve(const struct wait *w) {
    return w->from.q != NULL ? turn_has_more(w->from.q) : pattern_find(w->from.pattern, turn_is_open) != NULL;
}

/* ---- in turn ---- */

static uint64_t *served(const struct wait *w) {
    return w->from.q != NULL ? &w->from.q->served : &w->from.pattern->served;
}

/* An empty queue keeps its position among the queues that take turns. */
void turn_note_served(const struct wait *w) {
    static uint64_t turns;

    *served(w) = may_serve(w) ? ++turns : 0;
}

/* Returns the index of the first queue to take from: the leftmost queue. Queues that had more jobs when they were
 * last served come later. If the search always began at the left, clients that take single jobs would never reach
 * the queues after a deep one. */
size_t turn_first(const struct taker *taker) {
    size_t first = taker->wait_count;

    if (taker->wait_count == 1)
        return 0;
    for (size_t i = 0; i < taker->wait_count; i++) {
        const struct wait *w = &taker->waits[i];

        if ((first == taker->wait_count || *served(w) < *served(&taker->waits[first])) && may_serve(w))
            first = i;
    }
    return first == taker->wait_count ? 0 : first;
}

/* ---- STRICT ---- */

static const struct wait *first_source_with_jobs(const struct taker *taker) {
    for (size_t i = 0; i < taker->wait_count; i++)
        if (may_serve(&taker->waits[i]))
            return &taker->waits[i];
    return NULL;
}

/* ---- WEIGHTS ---- */

/*
 * Start-time fair queueing. A queue has a position that advances by STRIDE / weight with each job, and the queue
 * with the least position is next. A queue that had no jobs for a time does not catch up more than one stride of
 * the smallest weight.
 */
static uint64_t *position(const struct wait *w) {
    return w->from.q != NULL ? &w->from.q->weighed : &w->from.pattern->weighed;
}

/* The least position that counts. */
static uint64_t least_position(const struct taker *taker) {
    uint64_t top = 0;
    uint32_t smallest = taker->waits[0].weight;

    for (size_t i = 0; i < taker->wait_count; i++) {
        top = *position(&taker->waits[i]) > top ? *position(&taker->waits[i]) : top;
        smallest = taker->waits[i].weight < smallest ? taker->waits[i].weight : smallest;
    }
    return top > STRIDE / smallest ? top - STRIDE / smallest : 0;
}

static uint64_t position_from(const struct wait *w, uint64_t least) {
    return *position(w) > least ? *position(w) : least;
}

static const struct wait *lightest_source(const struct taker *taker) {
    uint64_t least = least_position(taker);
    const struct wait *next = NULL;

    for (size_t i = 0; i < taker->wait_count; i++) {
        const struct wait *w = &taker->waits[i];

        if ((next == NULL || position_from(w, least) < position_from(next, least)) && may_serve(w))
            next = w;
    }
    return next;
}

void turn_note_weight(const struct taker *taker, const struct wait *w) {
    if (taker->order == TAKER_BY_WEIGHT)
        *position(w) = position_from(w, least_position(taker)) + STRIDE / w->weight;
}

/* ---- both ---- */

const struct wait *turn_next(const struct taker *taker) {
    return taker->order == TAKER_STRICT ? first_source_with_jobs(taker) : lightest_source(taker);
}
