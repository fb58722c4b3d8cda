/* Follow-ups that are under way: which queues they are about, and which of them have ended. */
#include "queue/follow_up.h"

#include <stdlib.h>

#include "base/hash.h"

/* The follow-ups for a queue, or for any queue. It is freed with the last of them. */
struct follow_ups_of {
    UT_hash_handle hh;
    int32_t queue_id;
    size_t count;
    uint64_t last; /* number of the newest one */
};

static struct {
    struct list list;
    struct follow_ups_of *by_queue;
    uint64_t last;
    const struct follow_up *cause;
    void (*on_ended)(void);
} follow_ups = { .list = { &follow_ups.list, &follow_ups.list } };

void follow_ups_on_ended(void (*fn)(void)) {
    follow_ups.on_ended = fn;
}

static struct follow_ups_of *follow_ups_find(int32_t queue_id) {
    struct follow_ups_of *of;

    HASH_FIND(hh, follow_ups.by_queue, &queue_id, sizeof queue_id, of);
    return of;
}

static struct follow_ups_of *follow_ups_use(int32_t queue_id) {
    struct follow_ups_of *of = follow_ups_find(queue_id);

    if (of == NULL) {
        of = xcalloc(1, sizeof *of);
        of->queue_id = queue_id;
        HASH_ADD(hh, follow_ups.by_queue, queue_id, sizeof of->queue_id, of);
    }
    of->count++;
    return of;
}

void follow_ups_set_cause(const struct follow_up *cause) {
    follow_ups.cause = cause;
}

void follow_up_begin(struct follow_up *f, int32_t queue_id) {
    const struct follow_up *cause = follow_ups.cause;

    f->number = cause != NULL ? cause->number : ++follow_ups.last;
    f->of = follow_ups_use(queue_id);
    if (f->number > f->of->last)
        f->of->last = f->number;
    list_insert_before(cause != NULL ? cause->node.next : &follow_ups.list, &f->node);
}

void follow_up_end(struct follow_up *f) {
    struct follow_ups_of *of = f->of;
    bool was_first = follow_ups.list.next == &f->node;

    if (of == NULL)
        return;
    f->of = NULL;
    list_remove(&f->node);
    if (--of->count == 0) {
        HASH_DELETE(hh, follow_ups.by_queue, of);
        free(of);
    }
    if (was_first && follow_ups.on_ended != NULL)
        follow_ups.on_ended();
}

uint64_t follow_ups_last(int32_t queue_id) {
    const struct follow_ups_of *any = follow_ups_find(0), *of = follow_ups_find(queue_id);
    uint64_t last = any != NULL ? any->last : 0;

    if (queue_id == 0)
        return list_empty(&follow_ups.list) ? 0 : follow_ups.last;
    return of != NULL && of->last > last ? of->last : last;
}

bool follow_ups_have_ended(uint64_t number) {
    return list_empty(&follow_ups.list) ||
           LIST_ENTRY(follow_ups.list.next, struct follow_up, node)->number > number;
}
