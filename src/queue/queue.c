/* Queues in memory: found by name, by id and by place, made, hidden, paused and forgotten. */
#include "queue/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "config/config.h"
#include "queue/list_orientation.h"
#include "queue/observer.h"
#include "queue/pattern_index.h"
#include "queue/queue_history.h"
#include "queue/queue_latency.h"
#include "queue/queue_limits.h"
#include "queue/settings.h"

static unsigned queue_hash_of_name(const struct compact_link *link) {
    struct slice name = CONTAINER_OF(link, struct queue, by_name)->name;

    return hash_key(name.ptr, name.len);
}

static unsigned queue_hash_of_id(const struct compact_link *link) {
    return hash_key(&CONTAINER_OF(link, struct queue, by_id)->id, sizeof(int32_t));
}

static struct {
    struct compact_table by_name;
    struct compact_table by_id;
    struct queue **slots;
    uint32_t slot_count;
    uint32_t slot_cap;
    uint32_t first_free; /* no slot before it is free */
    struct list paused_in;
    /* queues without a row; the first one is checked next */
    struct list rowless;
    size_t rowless_bytes;
    size_t bytes;         /* of all queues without their work */
    size_t looks;         /* how many rowless queues are still to be checked */
    struct queue *latest; /* the last result of queue_find_id(), because most calls are for the same queue */
    size_t shown;
} queues = { .by_name = { .hash_of = queue_hash_of_name }, .by_id = { .hash_of = queue_hash_of_id } };

void queue_init(void) {
    list_init(&queues.paused_in);
    list_init(&queues.rowless);
    patterns_init();
}

struct queue *queue_find(struct slice name) {
    struct compact_link *link = compact_first(&queues.by_name, hash_key(name.ptr, name.len));

    for (; link != NULL; link = link->next) {
        struct queue *q = CONTAINER_OF(link, struct queue, by_name);

        if (slice_equal(q->name, name))
            return q;
    }
    return NULL;
}

struct queue *queue_find_id(int32_t id) {
    struct compact_link *link;

    if (queues.latest != NULL && queues.latest->id == id)
        return queues.latest;
    for (link = compact_first(&queues.by_id, hash_key(&id, sizeof id)); link != NULL; link = link->next) {
        struct queue *q = CONTAINER_OF(link, struct queue, by_id);

        if (q->id == id)
            return queues.latest = q;
    }
    return NULL;
}

static uint32_t queue_free_slot(void) {
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

/* ---- queues without a row ---- */

/* The memory that all unused queues without a row may take: about ten thousand queues. */
#define ROWLESS_BYTES ((size_t)8 * 1024 * 1024)
/* Number of old queues that are checked for each new one, and in each tick. Queues in use are checked, too. */
#define LOOKS_EACH 2
#define LOOKS_A_TICK 10000
#define LOOKS_A_TURN 20000

static size_t lasting_memory(const struct queue *q) {
    return sizeof *q + q->name.len;
}

size_t queue_memory(const struct queue *q) {
    return lasting_memory(q) + sizeof *q->work;
}

void queue_grew(size_t before, size_t bytes) {
    queues.bytes = queues.bytes - before + bytes;
}

size_t queues_memory(void) {
    return queues.bytes;
}

bool queues_are_full(void) {
    return config.maxmemory_queues != 0 && queues.bytes > config.maxmemory_queues;
}

static void add_rowless(struct queue *q) {
    list_push_back(&queues.rowless, &q->in_rowless);
    queues.rowless_bytes += queue_memory(q);
}

static void remove_rowless(struct queue *q) {
    if (list_empty(&q->in_rowless))
        return;
    list_remove(&q->in_rowless);
    queues.rowless_bytes -= queue_memory(q);
}

bool queue_is_unused(const struct queue *q) {
    return q->counters.total == 0 && q->counters.dead == 0 && q->users == 0 && q->leases == 0 &&
           q->pause == 0 && q->settings == NULL && q->work->claims.rows == 0 && !q->work->row.opening &&
           list_empty(&q->work->row.waiters) && list_empty(&q->counters.own->in_dirty);
}

void queue_unwait(struct queue *q) {
    q->users--;
    if (q->users > 0 || list_empty(&q->in_rowless))
        return;
    list_remove(&q->in_rowless);
    list_push_front(&queues.rowless, &q->in_rowless);
    queues.looks++;
}

void queues_tick(void) {
    if (queues.looks < LOOKS_A_TICK)
        queues.looks = LOOKS_A_TICK;
}

bool queues_forget_rowless(void) {
    for (size_t left = LOOKS_A_TURN; queues.looks > 0 && queues.rowless_bytes > ROWLESS_BYTES;
         queues.looks--) {
        if (left-- == 0)
            return false;
        struct queue *q = LIST_ENTRY(queues.rowless.next, struct queue, in_rowless);

        list_remove(&q->in_rowless);
        list_push_back(&queues.rowless, &q->in_rowless);
        if (queue_is_unused(q))
            queue_drop(q);
    }
    return true;
}

static struct queue *queue_new(struct slice name) {
    struct queue *q = xcalloc(1, sizeof *q + name.len);

    q->name = (struct slice){ (char *)(q + 1), name.len };
    if (name.len > 0)
        memcpy(q + 1, name.ptr, name.len);
    q->hidden = slice_equal(q->name, SLICE(QUEUE_HIDDEN));
    position_init(&q->scan);
    q->created_us = clock_db();
    queue_counters_init(q);
    limits_init(q);
    q->work = &queue_idle;
    list_init(&q->in_rowless);
    q->slot = queue_free_slot();
    queues.slots[q->slot] = q;
    compact_add(&queues.by_name, queue_hash_of_name(&q->by_name), &q->by_name);
    queues.bytes += lasting_memory(q);
    add_rowless(q);
    queues.looks += LOOKS_EACH;
    return q;
}

struct queue *queue_use(struct queue *found, struct slice name) {
    struct queue *q = found != NULL ? found : queue_new(name);

    q->named_us = clock_mono();
    return q;
}

struct queue *queue_get(struct slice name) {
    return queue_use(queue_find(name), name);
}

void queue_set_id(struct queue *q, int32_t id) {
    if (q->id == id)
        return;
    if (q->id != 0)
        compact_remove(&queues.by_id, queue_hash_of_id(&q->by_id), &q->by_id);
    if (queues.latest == q)
        queues.latest = NULL;
    list_orientation_set(q, END_NONE);
    q->id = id;
    if (id == 0) {
        add_rowless(q);
        return;
    }
    remove_rowless(q);
    compact_add(&queues.by_id, queue_hash_of_id(&q->by_id), &q->by_id);
}

static void set_shown(struct queue *q, bool shown) {
    if (!q->hidden) {
        queues.shown -= q->shown;
        queues.shown += shown;
    }
    q->shown = shown;
}

void queue_show(struct queue *q) {
    set_shown(q, true);
}

void queue_drop(struct queue *q) {
    settings_clear(q); /* it signals the queue */
    queue_set_id(q, 0);
    queue_set_pause(q, 0);
    queue_counters_drop(q);
    set_shown(q, false);
    remove_rowless(q);
    compact_remove(&queues.by_name, queue_hash_of_name(&q->by_name), &q->by_name);
    patterns_drop_queue(q);
    queues.slots[q->slot] = NULL;
    if (q->slot < queues.first_free)
        queues.first_free = q->slot;
    queue_work_drop(q);
    limits_drop(q);
    queue_history_drop(q);
    queue_latency_drop(q);
    position_free(&q->scan);
    queues.bytes -= lasting_memory(q);
    free(q);
}

/* The rows and the ids remain, because sent statements may use the ids. Unused queues are forgotten later. */
void queue_clear(void) {
    QUEUE_EACH(q) {
        queue_set_pause(q, 0);
        settings_clear(q);
        set_shown(q, !list_empty(&q->work->waiting.list));
        queue_counters_clear(q);
        position_clear(&q->scan);
        q->served = 0;
        list_orientation_set(q, END_NONE);
        q->created_us = clock_db();
    }
}

size_t queue_count(void) {
    return queues.by_name.count;
}

struct queue *queue_at(uint32_t slot) {
    return queues.slots[slot];
}

uint32_t queue_slots(void) {
    return queues.slot_count;
}

size_t queue_shown(void) {
    return queues.shown;
}

/* ---- pauses ---- */

static void remove_paused(struct queue *q) {
    if (!list_empty(&q->work->in_paused))
        list_remove(&queue_work(q)->in_paused);
}

void queue_set_pause(struct queue *q, unsigned pause) {
    if ((pause & PAUSE_IN) == 0)
        remove_paused(q);
    else if (list_empty(&q->work->in_paused))
        list_push_back(&queues.paused_in, &queue_work(q)->in_paused);
    q->pause = (uint8_t)pause;
}

const char *queue_pause_name(unsigned pause) {
    static const char *const names[] = { "none", "in", "out", "all" };

    return names[pause & (PAUSE_IN | PAUSE_OUT)];
}

struct list *queue_paused_in(void) {
    return &queues.paused_in;
}
