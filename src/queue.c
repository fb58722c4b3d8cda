/* What this server knows of a queue: counters, who waits, where claims look. */
#include "queue.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"

/* More returned jobs than these are found by walking again from the first. */
#define RETURNED_MAX 65536

static struct {
    struct queue *by_name;
    struct queue *by_id;
    struct queue **slots;
    uint32_t slot_count;
    uint32_t slot_cap;
    uint32_t first_free; /* no slot before it is free */
    struct list ready;
    struct list dirty;
    size_t paused_in;
} queues;

static const struct job_key beginning = { .rank = INT16_MIN, .id = 0 };

void queue_init(void) {
    list_init(&queues.ready);
    list_init(&queues.dirty);
}

struct queue *queue_find(struct slice name) {
    struct queue *q;

    HASH_FIND(by_name, queues.by_name, name.ptr, name.len, q);
    return q;
}

struct queue *queue_find_id(int32_t id) {
    struct queue *q;

    HASH_FIND(by_id, queues.by_id, &id, sizeof id, q);
    return q;
}

static uint32_t free_slot(void) {
    while (queues.first_free < queues.slot_count && queues.slots[queues.first_free] != NULL)
        queues.first_free++;
    if (queues.first_free < queues.slot_count)
        return queues.first_free;
    if (queues.slot_count == queues.slot_cap) {
        queues.slot_cap = queues.slot_cap == 0 ? 64 : queues.slot_cap * 2;
        queues.slots = xrealloc(queues.slots, queues.slot_cap * sizeof *queues.slots);
    }
    return queues.slot_count++;
}

static struct queue *queue_new(struct slice name) {
    struct queue *q = xcalloc(1, sizeof *q);

    q->name = (struct slice){ xmemdup(name.ptr, name.len), name.len };
    q->frontier = beginning;
    q->created_us = clock_db();
    q->used_us = clock_mono();
    list_init(&q->in_dirty);
    list_init(&q->in_ready);
    list_init(&q->waiters);
    list_init(&q->parked);
    q->slot = free_slot();
    queues.slots[q->slot] = q;
    HASH_ADD_KEYPTR(by_name, queues.by_name, q->name.ptr, q->name.len, q);
    return q;
}

struct queue *queue_get(struct slice name) {
    struct queue *q = queue_find(name);

    if (q == NULL)
        q = queue_new(name);
    q->named_us = clock_mono();
    return q;
}

void queue_set_id(struct queue *q, int32_t id) {
    if (q->id != 0)
        HASH_DELETE(by_id, queues.by_id, q);
    q->id = id;
    if (id != 0)
        HASH_ADD(by_id, queues.by_id, id, sizeof q->id, q);
}

void queue_drop(struct queue *q) {
    queue_set_id(q, 0);
    queue_set_pause(q, 0);
    HASH_DELETE(by_name, queues.by_name, q);
    queues.slots[q->slot] = NULL;
    if (q->slot < queues.first_free)
        queues.first_free = q->slot;
    list_remove(&q->in_dirty);
    list_remove(&q->in_ready);
    free(q->returned);
    free((char *)q->name.ptr);
    free(q);
}

/* The rows stay, and so do the ids that statements under way may use; unused
 * queues are forgotten later. */
void queue_clear(void) {
    QUEUE_EACH(q) {
        list_remove(&q->in_dirty);
        queue_set_pause(q, 0);
        q->shown = !list_empty(&q->waiters);
        q->len = q->total = q->jobs_in = q->jobs_out = q->saved_in = q->saved_out = 0;
        q->returned_count = 0;
        q->behind = false;
        q->created_us = clock_db();
    }
}

size_t queue_count(void) {
    return HASH_CNT(by_name, queues.by_name);
}

struct queue *queue_at(uint32_t slot) {
    return queues.slots[slot];
}

uint32_t queue_slots(void) {
    return queues.slot_count;
}

int64_t queue_jobs_total(void) {
    int64_t jobs = 0;

    QUEUE_EACH(q)
    jobs += q->total;
    return jobs;
}

/* ---- the returned set ---- */

static void sift_up(struct job_key *heap, size_t at) {
    while (at > 0 && job_key_before(heap[at], heap[(at - 1) / 2])) {
        struct job_key parent = heap[(at - 1) / 2];

        heap[(at - 1) / 2] = heap[at];
        heap[at] = parent;
        at = (at - 1) / 2;
    }
}

static void sift_down(struct job_key *heap, size_t count, size_t at) {
    for (;;) {
        size_t least = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (job_key_before(heap[child], heap[least]))
                least = child;
        if (least == at)
            return;
        struct job_key moved = heap[at];

        heap[at] = heap[least];
        heap[least] = moved;
        at = least;
    }
}

/* All returned jobs lie at or behind the first of them. */
static void walk_from_first_returned(struct queue *q) {
    struct job_key before = q->returned[0];

    before.id--;
    q->returned_count = 0;
    queue_walk_from(q, before);
}

void queue_return_key(struct queue *q, struct job_key key) {
    if (q->returned_count == q->returned_cap) {
        q->returned_cap = q->returned_cap == 0 ? 16 : q->returned_cap * 2;
        q->returned = xrealloc(q->returned, q->returned_cap * sizeof *q->returned);
    }
    q->returned[q->returned_count] = key;
    sift_up(q->returned, q->returned_count++);
    if (q->returned_count == RETURNED_MAX)
        walk_from_first_returned(q);
}

bool queue_take_returned(struct queue *q, struct job_key *key) {
    if (q->returned_count == 0)
        return false;
    *key = q->returned[0];
    q->returned[0] = q->returned[--q->returned_count];
    sift_down(q->returned, q->returned_count, 0);
    return true;
}

/* ---- readiness ---- */

int64_t queue_budget(const struct queue *q) {
    int64_t returned = (int64_t)q->returned_count;
    int64_t walk = 0;

    if (queue_is_shut(q))
        return 0;
    if (q->behind) {
        walk = q->len - returned - q->claiming;
        /* The count may lag behind; one row is always worth a look. */
        if (walk < 1)
            walk = q->claiming == 0 ? 1 : 0;
    }
    return returned + walk;
}

void queue_signal(struct queue *q) {
    if (!list_empty(&q->waiters) && list_empty(&q->in_ready))
        list_push_back(&queues.ready, &q->in_ready);
}

struct queue *queue_next_signalled(void) {
    struct list *node = list_pop_front(&queues.ready);

    return node == NULL ? NULL : LIST_ENTRY(node, struct queue, in_ready);
}

void queue_job_returned(struct queue *q, struct job_key key) {
    q->len++;
    queue_return_key(q, key);
    queue_signal(q);
}

void queue_job_ready(struct queue *q, struct job_key key) {
    if (!job_key_before(q->frontier, key)) {
        queue_job_returned(q, key);
        return;
    }
    q->len++;
    /* It is the first. What was handed over since the last claim lies between, and may be dead by the million. */
    if (!q->behind)
        q->frontier = (struct job_key){ q->id, key.rank, key.id - 1 };
    q->behind = true;
    queue_signal(q);
}

void queue_walk_from(struct queue *q, struct job_key key) {
    if (job_key_before(key, q->frontier))
        q->frontier = key;
    q->behind = true;
    q->rewinds++;
    queue_signal(q);
}

void queue_rewind(struct queue *q) {
    q->returned_count = 0;
    queue_walk_from(q, beginning);
}

void queue_walk_after(struct queue *q, struct job_key key) {
    q->returned_count = 0;
    q->frontier = key;
    q->behind = q->len > 0;
    q->rewinds++;
    queue_signal(q);
}

bool queue_misses_jobs(const struct queue *q) {
    return q->len > 0 && !q->behind && q->returned_count == 0 && q->claiming == 0;
}

struct job_key queue_first_key(const struct queue *q) {
    struct job_key first = q->frontier;

    first.queue_id = q->id;
    if (q->returned_count > 0 && !job_key_before(first, q->returned[0])) {
        first = q->returned[0];
        first.id--;
    }
    return first;
}

void queue_set_pause(struct queue *q, unsigned pause) {
    queues.paused_in += (pause & PAUSE_IN) != 0;
    queues.paused_in -= (q->pause & PAUSE_IN) != 0;
    q->pause = pause;
}

size_t queue_paused_in(void) {
    return queues.paused_in;
}

/* ---- counters ---- */

static void mark_dirty(struct queue *q) {
    q->used_us = clock_mono();
    if (q->id != 0 && list_empty(&q->in_dirty))
        list_push_back(&queues.dirty, &q->in_dirty);
}

void queue_count_in(struct queue *q) {
    q->jobs_in++;
    q->shown = true;
    mark_dirty(q);
}

void queue_count_out(struct queue *q, int64_t jobs) {
    q->jobs_out += jobs;
    mark_dirty(q);
}

struct queue *queue_next_dirty(void) {
    struct list *node = list_pop_front(&queues.dirty);

    return node == NULL ? NULL : LIST_ENTRY(node, struct queue, in_dirty);
}
