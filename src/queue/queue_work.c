/* The parts of queues that only a queue in use needs. */
#include "queue/queue_work.h"

#include <stdlib.h>
#include <string.h>

#include "queue/queue.h"

/* Records that are checked in each tick. */
#define WORKS_A_TICK 2000

#define IDLE_LIST(name) .name = { (struct list *)&queue_idle.name, (struct list *)&queue_idle.name }

const struct queue_work queue_idle = {
    IDLE_LIST(waiting.list),      IDLE_LIST(row.waiters),     IDLE_LIST(ends.waiters),
    IDLE_LIST(outbox.in_changed), IDLE_LIST(outbox.in_ready), IDLE_LIST(outbox.in_room),
    IDLE_LIST(in_ready),          IDLE_LIST(in_paused),
};

/* The next record to check is the first. */
static struct list work_records = { &work_records, &work_records };

static struct queue_work *queue_work_new(struct queue *q) {
    struct queue_work *w = xcalloc(1, sizeof *w);

    w->q = q;
    list_init(&w->waiting.list);
    list_init(&w->row.waiters);
    list_init(&w->ends.waiters);
    list_init(&w->outbox.in_changed);
    list_init(&w->outbox.in_ready);
    list_init(&w->outbox.in_room);
    list_init(&w->in_ready);
    list_init(&w->in_paused);
    list_push_back(&work_records, &w->node);
    q->work = w;
    return w;
}

struct queue_work *queue_work(struct queue *q) {
    return q->work == &queue_idle ? queue_work_new(q) : (struct queue_work *)q->work;
}

static void queue_work_free(struct queue_work *w) {
    w->q->work = &queue_idle;
    list_remove(&w->node);
    free(w);
}

void queue_work_drop(struct queue *q) {
    struct queue_work *w;

    if (q->work == &queue_idle)
        return;
    w = queue_work(q);
    list_remove(&w->in_ready);
    list_remove(&w->in_paused);
    list_remove(&w->outbox.in_changed);
    list_remove(&w->outbox.in_ready);
    list_remove(&w->outbox.in_room);
    queue_work_free(w);
}

static bool has_takes(const struct queue_claims *c) {
    static const struct queue_claims none;

    return memcmp(c, &none, sizeof none) != 0;
}

static bool has_adds(const struct queue_adds *a) {
    return a->accepted != 0 || a->sent != 0 || a->pushes_sent != a->pushes_ended || a->of_started != 0;
}

static bool has_waiting(const struct queue_work *w) {
    return w->waiting.count != 0 || !list_empty(&w->waiting.list) || w->row.opening ||
           !list_empty(&w->row.waiters) || w->ends.asking || !list_empty(&w->ends.waiters);
}

static bool has_changes(const struct queue_outbox *o) {
    return !list_empty(&o->in_changed) || !list_empty(&o->in_ready) || !list_empty(&o->in_room) ||
           o->ready_count != 0;
}

static bool is_in_use(const struct queue_work *w) {
    return has_takes(&w->claims) || has_adds(&w->adds) || has_waiting(w) || has_changes(&w->outbox) ||
           !list_empty(&w->in_ready) || !list_empty(&w->in_paused) || w->trim != NULL || w->pausing != 0 ||
           w->moving != 0;
}

void queue_works_tick(void) {
    struct list *last = work_records.prev;

    for (int left = WORKS_A_TICK; left > 0 && !list_empty(&work_records); left--) {
        struct list *node = list_pop_front(&work_records);
        struct queue_work *w = LIST_ENTRY(node, struct queue_work, node);
        bool was_last = node == last;

        if (is_in_use(w))
            list_push_back(&work_records, node);
        else
            queue_work_free(w);
        if (was_last)
            break;
    }
}
