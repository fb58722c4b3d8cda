/* Iterates over the queues in steps, for QSCAN, SCAN and commands that count keys. */
#include "queue/queue_iter.h"

#include <stdio.h>

#include "base/time_budget.h"
#include "net/client.h"
#include "net/long_work.h"

#define NAME_BYTES 64

size_t scan_queues(uint32_t *slot, int64_t count, int64_t effort,
                   bool (*wanted)(const struct queue *q, const void *how), const void *how,
                   struct slice *names) {
    size_t found = 0;

    effort = effort < SCAN_QUEUES_MAX ? effort : SCAN_QUEUES_MAX;
    for (; *slot < queue_slots() && (int64_t)found < count && effort-- > 0; (*slot)++) {
        const struct queue *q = queue_at(*slot);

        if (q != NULL && wanted(q, how))
            names[found++] = q->name;
        if (q != NULL && q->shown)
            effort -= (int64_t)(q->name.len / NAME_BYTES);
    }
    return found;
}

/* ---- full iteration ---- */

struct scan {
    struct long_work work;
    struct req *req;
    bool (*wanted)(const struct queue *q, const void *how);
    const void *how;
    const char *head;
    uint32_t slot;
    struct buf found;
    size_t count;
};

static void scan_end(struct scan *s) {
    struct req *r = s->req;

    buf_append_str(reply_buf(r), s->head);
    reply_array(r, s->count);
    buf_append(reply_buf(r), buf_ptr(&s->found), buf_len(&s->found));
    buf_free(&s->found);
    req_end(r);
}

static bool scan_some(struct long_work *w) {
    struct scan *s = CONTAINER_OF(w, struct scan, work);
    struct budget piece = budget_of(LONG_WORK_US);

    for (; s->slot < queue_slots() && !client_has_gone(s->req->client); s->slot++) {
        const struct queue *q = queue_at(s->slot);

        if (budget_is_over(&piece))
            return true;
        if (q == NULL || !s->wanted(q, s->how))
            continue;
        resp_bulk(&s->found, q->name);
        s->count++;
    }
    scan_end(s);
    return false;
}

void scan_all(struct req *r, bool (*wanted)(const struct queue *q, const void *how), const void *how,
              const char *head) {
    struct scan *s = req_alloc(r, sizeof *s);

    *s = (struct scan){ .req = r, .wanted = wanted, .how = how, .head = head };
    long_work_begin(&s->work, scan_some);
}

/* ---- steps ---- */

size_t scan_room(int64_t count) {
    size_t most = queue_slots() < SCAN_QUEUES_MAX ? queue_slots() : SCAN_QUEUES_MAX;

    return count > (int64_t)most ? most + 1 : count > 0 ? (size_t)count : 1;
}

uint32_t scan_slot(int64_t cursor) {
    return cursor == 0 || (cursor > 0 && cursor < queue_slots()) ? (uint32_t)cursor : queue_slots();
}

void scan_reply(struct req *r, uint32_t slot, const struct slice *names, size_t count) {
    char cursor[16];

    snprintf(cursor, sizeof cursor, "%u", slot < queue_slots() ? slot : 0);
    reply_array(r, 2);
    reply_bulk_str(r, cursor);
    reply_array(r, count);
    for (size_t i = 0; i < count; i++)
        reply_bulk(r, names[i]);
    req_end(r);
}
