/* The outbox: collects changes for the peers, and writes the text of notifications. */
#include "cluster/outbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "queue/observer.h"
#include "queue/queue.h"
#include "queue/queue_limits.h"
#include "queue/queue_ready.h"

/* With more items about jobs than this, they are dropped, and peers read the database again (OUTBOX_SUSPECT). */
#define JOBS_MAX 10000
/* Upper bound of the length of an item. */
#define ITEM_BYTES 210

struct job_item {
    enum outbox_item item;
    struct job_key key;
    int64_t until; /* end of the lease; for OUTBOX_ENDED: how the job ended */
};

static struct {
    struct list changed;      /* queues whose counter shares have changed */
    struct list unsent_ready; /* queues with ready jobs that peers do not know */
    struct list room;         /* limited queues with a free concurrency slot */
    struct job_item *jobs;
    size_t job_count;
    uint32_t notes; /* items without numbers: bits by letter */
    bool tell_all;  /* OUTBOX_SENT_ALL follows after the last counter share */
} outbox = { .changed = { &outbox.changed, &outbox.changed },
             .unsent_ready = { &outbox.unsent_ready, &outbox.unsent_ready },
             .room = { &outbox.room, &outbox.room } };

/* ---- collecting ---- */

static bool has_share(const struct queue *q) {
    return (q->counters.own->share.len | q->counters.own->share.total | q->counters.own->share.jobs_in |
            q->counters.own->share.jobs_out | q->counters.own->share.dead | q->counters.own->has_states) != 0;
}

static void add_shares(void) {
    QUEUE_EACH(q) {
        if (has_share(q) && q->id != 0 && list_empty(&q->work->outbox.in_changed))
            list_push_back(&outbox.changed, &queue_work(q)->outbox.in_changed);
    }
}

static void forget_untold(struct queue *q) {
    list_remove(&queue_work(q)->outbox.in_ready);
    queue_work(q)->outbox.ready_count = 0;
}

static void outbox_forget_all(void) {
    struct list *node;

    while ((node = list_pop_front(&outbox.changed)) != NULL)
        list_init(node);
    while (!list_empty(&outbox.unsent_ready))
        forget_untold(LIST_ENTRY(outbox.unsent_ready.next, struct queue_work, outbox.in_ready)->q);
    while ((node = list_pop_front(&outbox.room)) != NULL)
        list_init(node);
    outbox.job_count = 0;
    outbox.notes = queue_announced = 0;
    outbox.tell_all = false;
}

static void outbox_counted(struct queue *q) {
    if (q->id != 0 && list_empty(&q->work->outbox.in_changed))
        list_push_back(&outbox.changed, &queue_work(q)->outbox.in_changed);
}

static void outbox_ready(struct queue *q, struct job_key first, int64_t count) {
    if (q->work->outbox.ready_count == 0 || job_key_before(first, q->work->outbox.ready))
        queue_work(q)->outbox.ready = first;
    queue_work(q)->outbox.ready_count += count;
    if (list_empty(&q->work->outbox.in_ready))
        list_push_back(&outbox.unsent_ready, &queue_work(q)->outbox.in_ready);
}

static void outbox_room(struct queue *q) {
    if (list_empty(&q->work->outbox.in_room))
        list_push_back(&outbox.room, &queue_work(q)->outbox.in_room);
}

static void add_job(enum outbox_item item, struct job_key key, int64_t until) {
    if (outbox.job_count == JOBS_MAX) {
        outbox.job_count = 0;
        outbox_note(OUTBOX_SUSPECT);
    }
    if (outbox.jobs == NULL)
        outbox.jobs = xmalloc(JOBS_MAX * sizeof *outbox.jobs);
    outbox.jobs[outbox.job_count++] = (struct job_item){ item, key, until };
}

static void outbox_returned(struct job_key key) {
    add_job(OUTBOX_RETURNED, key, 0);
}

static void outbox_lease_ended(struct job_key key, int64_t row_until, bool gone) {
    add_job(gone ? OUTBOX_GONE : OUTBOX_MOVED, key, row_until);
}

/* Waiters for ends of jobs do not depend on this hint, so it takes at most half of the space. */
static void outbox_job_ended(struct job_key key, int how) {
    if (outbox.job_count < JOBS_MAX / 2)
        add_job(OUTBOX_ENDED, key, how);
}

static void outbox_row_changed(int32_t queue_id) {
    add_job(OUTBOX_ROW, (struct job_key){ .queue_id = queue_id }, 0);
}

static void outbox_uncounted(int32_t queue_id) {
    add_job(OUTBOX_UNCOUNTED, (struct job_key){ .queue_id = queue_id }, 0);
}

static const struct queue_observer observer = {
    .counted = outbox_counted,
    .ready = outbox_ready,
    .returned = outbox_returned,
    .lease_ended = outbox_lease_ended,
    .job_ended = outbox_job_ended,
    .room = outbox_room,
    .row_changed = outbox_row_changed,
    .uncounted = outbox_uncounted,
};

void outbox_set_shared(bool shared) {
    if (shared == (queue_observer != NULL))
        return;
    queue_observer = shared ? &observer : NULL;
    if (shared)
        add_shares();
    else
        outbox_forget_all();
}

void outbox_note(enum outbox_item item) {
    outbox.notes |= 1U << (item - 'a');
}

void outbox_send_all(void) {
    add_shares();
    outbox.tell_all = true;
}

/* ---- writing ---- */

/* True if the ready jobs are left for peers. If a request waits here, it is about to claim the job, unless this server
 * has as many jobs as it may. */
static bool is_left_over(struct queue *q) {
    bool is_full = q->limits->server_most > 0 && limits_server_room(q) == 0;

    return q->work->claims.rows == 0 && (is_full || !queue_is_awaited(q));
}

static bool outbox_is_taken(const struct queue *q) {
    return position_is_exhausted(&q->scan) && q->work->claims.rows == 0;
}

static bool has_left_over(void) {
    bool found = false;

    LIST_EACH_SAFE(node, &outbox.unsent_ready) {
        struct queue *q = LIST_ENTRY(node, struct queue_work, outbox.in_ready)->q;

        if (outbox_is_taken(q))
            forget_untold(q);
        else
            found |= is_left_over(q);
    }
    return found;
}

bool outbox_has(bool *urgent) {
    *urgent = outbox.job_count > 0 || (outbox.notes | queue_announced) != 0 || !list_empty(&outbox.room) ||
              has_left_over();
    return *urgent || outbox.tell_all || !list_empty(&outbox.changed);
}

struct text {
    char *out;
    size_t size;
    size_t len;
};

static bool outbox_has_room(const struct text *t) {
    return t->size - t->len > ITEM_BYTES;
}

static void put_share(struct text *t, const struct queue *q) {
    t->len +=
        (size_t)snprintf(t->out + t->len, t->size - t->len, " %c%d,%lld,%lld,%lld,%lld,%lld", OUTBOX_SHARE,
                         q->id, (long long)q->counters.own->share.len,
                         (long long)q->counters.own->share.total, (long long)q->counters.own->share.jobs_in,
                         (long long)q->counters.own->share.jobs_out, (long long)q->counters.own->share.dead);
}

/* The states of a queue without delayed and waiting jobs take no place. */
static void put_states(struct text *t, const struct queue *q) {
    if (q->counters.own->has_states || q->counters.own->share.jobs_out > 0)
        t->len +=
            (size_t)snprintf(t->out + t->len, t->size - t->len, " %c%d,%lld,%lld,%lld", OUTBOX_STATES, q->id,
                             (long long)q->counters.own->share.delayed,
                             (long long)q->counters.own->share.waiting, (long long)q->counters.oldest_due_us);
}

static void put_ready(struct text *t, const struct queue *q) {
    t->len += (size_t)snprintf(t->out + t->len, t->size - t->len, " %c%d,%d,%lld,%lld", OUTBOX_READY, q->id,
                               q->work->outbox.ready.rank, (long long)q->work->outbox.ready.id,
                               (long long)q->work->outbox.ready_count);
}

static void outbox_put_job(struct text *t, const struct job_item *j) {
    t->len += (size_t)snprintf(t->out + t->len, t->size - t->len, " %c%d", j->item, j->key.queue_id);
    if (j->item != OUTBOX_ROW && j->item != OUTBOX_UNCOUNTED)
        t->len += (size_t)snprintf(t->out + t->len, t->size - t->len, ",%d,%lld", j->key.rank,
                                   (long long)j->key.id);
    if (j->until != 0)
        t->len += (size_t)snprintf(t->out + t->len, t->size - t->len, ",%lld", (long long)j->until);
}

static void note_announcements(void) {
    if (queue_announced & ANNOUNCE_FLUSHED)
        outbox_note(OUTBOX_FLUSHED);
    if (queue_announced & ANNOUNCE_SCHEDULES)
        outbox_note(OUTBOX_SCHEDULES);
    if (queue_announced & ANNOUNCE_AWAITS)
        outbox_note(OUTBOX_AWAITS);
    queue_announced = 0;
}

static void put_notes(struct text *t) {
    note_announcements();
    for (char letter = 'a'; outbox.notes != 0; letter++, outbox.notes >>= 1)
        if (outbox.notes & 1)
            t->len += (size_t)snprintf(t->out + t->len, t->size - t->len, " %c", letter);
}

static void put_jobs(struct text *t) {
    size_t count = 0;

    while (count < outbox.job_count && outbox_has_room(t))
        outbox_put_job(t, &outbox.jobs[count++]);
    outbox.job_count -= count;
    if (outbox.job_count > 0)
        memmove(outbox.jobs, outbox.jobs + count, outbox.job_count * sizeof *outbox.jobs);
}

static void put_left_over(struct text *t) {
    LIST_EACH_SAFE(node, &outbox.unsent_ready) {
        struct queue *q = LIST_ENTRY(node, struct queue_work, outbox.in_ready)->q;

        if (!outbox_has_room(t) || !is_left_over(q))
            continue;
        put_ready(t, q);
        forget_untold(q);
    }
}

static void put_room(struct text *t) {
    struct list *node;

    while (outbox_has_room(t) && (node = list_pop_front(&outbox.room)) != NULL)
        t->len += (size_t)snprintf(t->out + t->len, t->size - t->len, " %c%d", OUTBOX_ROOM,
                                   LIST_ENTRY(node, struct queue_work, outbox.in_room)->q->id);
}

static void put_shares(struct text *t) {
    struct list *node;

    while (outbox_has_room(t) && (node = list_pop_front(&outbox.changed)) != NULL) {
        const struct queue *q = LIST_ENTRY(node, struct queue_work, outbox.in_changed)->q;

        put_share(t, q);
        put_states(t, q);
    }
}

/* Items without numbers come first, because they tell how to interpret the others. */
size_t outbox_take(char *out, size_t size) {
    struct text t = { out, size, 0 };

    out[0] = '\0';
    put_notes(&t);
    put_jobs(&t);
    put_room(&t);
    put_left_over(&t);
    put_shares(&t);
    if (outbox.tell_all && list_empty(&outbox.changed) && outbox_has_room(&t)) {
        outbox.tell_all = false;
        t.len += (size_t)snprintf(out + t.len, size - t.len, " %c", OUTBOX_SENT_ALL);
    }
    return t.len;
}

/* ---- reading ---- */

int outbox_numbers(const char *text, int64_t numbers[OUTBOX_NUMBERS]) {
    int count = 0;
    char *end;

    while (count < OUTBOX_NUMBERS) {
        numbers[count] = strtoll(text, &end, 10);
        if (end == text)
            break;
        count++;
        if (*end != ',')
            break;
        text = end + 1;
    }
    return count;
}
