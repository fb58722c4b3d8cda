/* The outbox: collects changes for the peers, and writes the text of notifications. */
#include "queue/news.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"

/* With more items about jobs than this, they are dropped, and peers read the database again (NEWS_DOUBT). */
#define JOBS_MAX 10000
/* Upper bound of the length of an item. */
#define ITEM_BYTES 130

struct job_item {
    enum news_item item;
    struct job_key key;
    int64_t until; /* end of the lease; for NEWS_ENDED: how the job ended */
};

static struct {
    bool shared;
    struct list changed; /* queues whose counter shares have changed */
    struct list untold;  /* queues with ready jobs that peers do not know */
    struct list room;    /* limited queues with a free concurrency slot */
    struct job_item *jobs;
    size_t job_count;
    char said[32]; /* letters of items without numbers */
    bool tell_all; /* NEWS_TOLD_ALL follows after the last counter share */
} news = { .changed = { &news.changed, &news.changed },
           .untold = { &news.untold, &news.untold },
           .room = { &news.room, &news.room } };

/* ---- collecting ---- */

static bool has_share(const struct queue *q) {
    return (q->own.len | q->own.total | q->own.jobs_in | q->own.jobs_out | q->own.dead) != 0;
}

static void add_shares(void) {
    QUEUE_EACH(q) {
        if (has_share(q) && q->id != 0 && list_empty(&q->in_news))
            list_push_back(&news.changed, &q->in_news);
    }
}

static void forget_untold(struct queue *q) {
    list_remove(&q->in_untold);
    q->untold_count = 0;
}

static void forget_all(void) {
    struct list *node;

    while ((node = list_pop_front(&news.changed)) != NULL)
        list_init(node);
    while (!list_empty(&news.untold))
        forget_untold(LIST_ENTRY(news.untold.next, struct queue, in_untold));
    while ((node = list_pop_front(&news.room)) != NULL)
        list_init(node);
    news.job_count = 0;
    news.said[0] = '\0';
    news.tell_all = false;
}

void news_set_shared(bool shared) {
    if (news.shared == shared)
        return;
    news.shared = shared;
    if (shared)
        add_shares();
    else
        forget_all();
}

void news_changed(struct queue *q) {
    if (news.shared && q->id != 0 && list_empty(&q->in_news))
        list_push_back(&news.changed, &q->in_news);
}

void news_ready(struct queue *q, struct job_key key) {
    if (!news.shared)
        return;
    if (q->untold_count++ == 0 || job_key_before(key, q->untold))
        q->untold = key;
    if (list_empty(&q->in_untold))
        list_push_back(&news.untold, &q->in_untold);
}

void news_room(struct queue *q) {
    if (news.shared && list_empty(&q->in_room))
        list_push_back(&news.room, &q->in_room);
}

static void add_job(enum news_item item, struct job_key key, int64_t until) {
    if (!news.shared)
        return;
    if (news.job_count == JOBS_MAX) {
        news.job_count = 0;
        news_say(NEWS_DOUBT);
    }
    if (news.jobs == NULL)
        news.jobs = xmalloc(JOBS_MAX * sizeof *news.jobs);
    news.jobs[news.job_count++] = (struct job_item){ item, key, until };
}

void news_returned(struct job_key key) {
    add_job(NEWS_RETURNED, key, 0);
}

void news_lease(enum news_item item, struct job_key key, int64_t row_until) {
    add_job(item, key, row_until);
}

/* Waiters for ends of jobs do not depend on this hint, so it takes at most half of the space. */
void news_ended(struct job_key key, int how) {
    if (news.job_count < JOBS_MAX / 2)
        add_job(NEWS_ENDED, key, how);
}

void news_row(int32_t queue_id) {
    add_job(NEWS_ROW, (struct job_key){ .queue_id = queue_id }, 0);
}

void news_uncounted(int32_t queue_id) {
    add_job(NEWS_UNCOUNTED, (struct job_key){ .queue_id = queue_id }, 0);
}

/* Each item is in the outbox once. Items are also added before the first peer is known, because NEWS_HELLO
 * must be sent. */
void news_say(enum news_item item) {
    size_t len = strlen(news.said);

    if (strchr(news.said, (char)item) != NULL || len + 1 == sizeof news.said)
        return;
    news.said[len] = (char)item;
    news.said[len + 1] = '\0';
}

void news_tell_all(void) {
    add_shares();
    news.tell_all = true;
}

void news_drop(struct queue *q) {
    list_remove(&q->in_news);
    list_remove(&q->in_untold);
    list_remove(&q->in_room);
}

/* ---- writing ---- */

/* True if the ready jobs are left for peers. If a request waits here, it is about to claim the job. */
static bool is_left_over(struct queue *q) {
    return !queue_is_awaited(q) && q->claiming == 0;
}

static bool is_taken(const struct queue *q) {
    return !q->behind && q->redelivery_count == 0 && q->claiming == 0;
}

static bool has_left_over(void) {
    bool found = false;

    LIST_EACH_SAFE(node, &news.untold) {
        struct queue *q = LIST_ENTRY(node, struct queue, in_untold);

        if (is_taken(q))
            forget_untold(q);
        else
            found |= is_left_over(q);
    }
    return found;
}

bool news_has(bool *urgent) {
    *urgent = news.job_count > 0 || news.said[0] != '\0' || !list_empty(&news.room) || has_left_over();
    return *urgent || news.tell_all || !list_empty(&news.changed);
}

struct text {
    char *out;
    size_t size;
    size_t len;
};

static bool has_room(const struct text *t) {
    return t->size - t->len > ITEM_BYTES;
}

static void put_share(struct text *t, const struct queue *q) {
    t->len += (size_t)snprintf(t->out + t->len, t->size - t->len, " %c%d,%lld,%lld,%lld,%lld,%lld",
                               NEWS_SHARE, q->id, (long long)q->own.len, (long long)q->own.total,
                               (long long)q->own.jobs_in, (long long)q->own.jobs_out, (long long)q->own.dead);
}

static void put_ready(struct text *t, const struct queue *q) {
    t->len += (size_t)snprintf(t->out + t->len, t->size - t->len, " %c%d,%d,%lld,%lld", NEWS_READY, q->id,
                               q->untold.rank, (long long)q->untold.id, (long long)q->untold_count);
}

static void put_job(struct text *t, const struct job_item *j) {
    t->len += (size_t)snprintf(t->out + t->len, t->size - t->len, " %c%d", j->item, j->key.queue_id);
    if (j->item != NEWS_ROW && j->item != NEWS_UNCOUNTED)
        t->len += (size_t)snprintf(t->out + t->len, t->size - t->len, ",%d,%lld", j->key.rank,
                                   (long long)j->key.id);
    if (j->until != 0)
        t->len += (size_t)snprintf(t->out + t->len, t->size - t->len, ",%lld", (long long)j->until);
}

static void put_said(struct text *t) {
    for (const char *c = news.said; *c != '\0'; c++)
        t->len += (size_t)snprintf(t->out + t->len, t->size - t->len, " %c", *c);
    news.said[0] = '\0';
}

static void put_jobs(struct text *t) {
    size_t count = 0;

    while (count < news.job_count && has_room(t))
        put_job(t, &news.jobs[count++]);
    news.job_count -= count;
    if (news.job_count > 0)
        memmove(news.jobs, news.jobs + count, news.job_count * sizeof *news.jobs);
}

static void put_left_over(struct text *t) {
    LIST_EACH_SAFE(node, &news.untold) {
        struct queue *q = LIST_ENTRY(node, struct queue, in_untold);

        if (!has_room(t) || !is_left_over(q))
            continue;
        put_ready(t, q);
        forget_untold(q);
    }
}

static void put_room(struct text *t) {
    struct list *node;

    while (has_room(t) && (node = list_pop_front(&news.room)) != NULL)
        t->len += (size_t)snprintf(t->out + t->len, t->size - t->len, " %c%d", NEWS_ROOM,
                                   LIST_ENTRY(node, struct queue, in_room)->id);
}

static void put_shares(struct text *t) {
    struct list *node;

    while (has_room(t) && (node = list_pop_front(&news.changed)) != NULL)
        put_share(t, LIST_ENTRY(node, struct queue, in_news));
}

/* Items without numbers come first, because they tell how to interpret the others. */
size_t news_take(char *out, size_t size) {
    struct text t = { out, size, 0 };

    out[0] = '\0';
    put_said(&t);
    put_jobs(&t);
    put_room(&t);
    put_left_over(&t);
    put_shares(&t);
    if (news.tell_all && list_empty(&news.changed) && has_room(&t)) {
        news.tell_all = false;
        t.len += (size_t)snprintf(out + t.len, size - t.len, " %c", NEWS_TOLD_ALL);
    }
    return t.len;
}

/* ---- reading ---- */

int news_numbers(const char *text, int64_t numbers[NEWS_NUMBERS]) {
    int count = 0;
    char *end;

    while (count < NEWS_NUMBERS) {
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
