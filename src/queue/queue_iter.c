/* Iterates over the queues in steps, for QSCAN, SCAN and commands that count keys. */
#include "queue/queue_iter.h"

#include <stdio.h>

#include "base/time_budget.h"
#include "net/client.h"
#include "net/long_work.h"

#define NAME_BYTES 64

/* A queue by its index, because the queue may be dropped between two steps. */
struct ranked_queue {
    uint32_t slot;
    int64_t value;
};

struct scan {
    struct long_work work;
    struct req *req;
    bool (*wanted)(const struct queue *q, const void *how);
    const void *how;
    const char *head; /* NULL: a page, which begins with its cursor */
    uint32_t slot;
    struct buf found;
    size_t count;
    /* Only for queue_iter_page(): the bounds of the page, and the bytes that each name leaves off. */
    int64_t most;
    int64_t effort;
    size_t skip;
    /* For queue_iter_largest(): the largest queues so far, the largest first. */
    int64_t (*value)(const struct queue *q); /* NULL: queue_iter_all() */
    struct ranked_queue *ranked;
    size_t ranked_count, ranked_max;
};

static void scan_add_name(struct scan *s, const struct queue *q) {
    resp_bulk(&s->found, (struct slice){ q->name.ptr + s->skip, q->name.len - s->skip });
    s->count++;
}

/* Equal values have the order of the iteration. */
static void scan_rank(struct scan *s, const struct queue *q) {
    int64_t value = s->value(q);
    size_t at = s->ranked_count;

    if (s->ranked_count < s->ranked_max)
        s->ranked_count++;
    else if (value <= s->ranked[--at].value)
        return;
    for (; at > 0 && s->ranked[at - 1].value < value; at--)
        s->ranked[at] = s->ranked[at - 1];
    s->ranked[at] = (struct ranked_queue){ s->slot, value };
}

static void scan_add_ranked(struct scan *s) {
    for (size_t i = 0; i < s->ranked_count; i++) {
        const struct queue *q = queue_at(s->ranked[i].slot);

        if (q != NULL && s->wanted(q, s->how))
            scan_add_name(s, q);
    }
}

static void scan_reply_cursor(const struct scan *s) {
    char cursor[16];

    snprintf(cursor, sizeof cursor, "%u", s->slot < queue_slots() ? s->slot : 0);
    reply_array(s->req, 2);
    reply_bulk_str(s->req, cursor);
}

static void scan_end(struct scan *s) {
    struct req *r = s->req;

    scan_add_ranked(s);
    if (s->head == NULL)
        scan_reply_cursor(s);
    else
        buf_append_str(reply_buf(r), s->head);
    reply_array(r, s->count);
    buf_append(reply_buf(r), buf_ptr(&s->found), buf_len(&s->found));
    buf_free(&s->found);
    req_end(r);
}

static bool scan_is_over(const struct scan *s) {
    return s->slot >= queue_slots() || client_has_gone(s->req->client) ||
           (s->head == NULL && ((int64_t)s->count >= s->most || s->effort <= 0));
}

static bool scan_some(struct long_work *w) {
    struct scan *s = CONTAINER_OF(w, struct scan, work);
    struct budget piece = budget_of(LONG_WORK_US);

    for (; !scan_is_over(s); s->slot++) {
        const struct queue *q = queue_at(s->slot);

        if (budget_is_over(&piece))
            return true;
        s->effort -= 1 + (q != NULL && q->shown ? (int64_t)(q->name.len / NAME_BYTES) : 0);
        if (q == NULL || !s->wanted(q, s->how))
            continue;
        if (s->value != NULL)
            scan_rank(s, q);
        else
            scan_add_name(s, q);
    }
    scan_end(s);
    return false;
}

void queue_iter_all(struct req *r, bool (*wanted)(const struct queue *q, const void *how), const void *how,
                    const char *head) {
    struct scan *s = req_alloc(r, sizeof *s);

    *s = (struct scan){ .req = r, .wanted = wanted, .how = how, .head = head };
    long_work_begin(&s->work, r->task.turn.user, scan_some);
}

void queue_iter_largest(struct req *r, size_t count, int64_t (*value)(const struct queue *q),
                        bool (*wanted)(const struct queue *q, const void *how), const void *how,
                        const char *head) {
    struct scan *s = req_alloc(r, sizeof *s);

    *s = (struct scan){ .req = r, .wanted = wanted, .how = how, .head = head, .value = value };
    s->ranked_max = count < SCAN_LARGEST_MAX ? count : SCAN_LARGEST_MAX;
    s->ranked = req_alloc(r, s->ranked_max * sizeof *s->ranked);
    long_work_begin(&s->work, r->task.turn.user, scan_some);
}

void queue_iter_page(struct req *r, const struct queue_page *page,
                     bool (*wanted)(const struct queue *q, const void *how), const void *how) {
    struct scan *s = req_alloc(r, sizeof *s);

    *s = (struct scan){ .req = r, .wanted = wanted, .how = how, .slot = page->slot, .skip = page->skip };
    s->most = page->count;
    s->effort = page->effort < SCAN_QUEUES_MAX ? page->effort : SCAN_QUEUES_MAX;
    long_work_begin(&s->work, r->task.turn.user, scan_some);
}

uint32_t queue_iter_slot(int64_t cursor) {
    return cursor == 0 || (cursor > 0 && cursor < queue_slots()) ? (uint32_t)cursor : queue_slots();
}
