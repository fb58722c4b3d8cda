/* The ready jobs of queues: the budgets of claims, and the queues whose waiters the next transaction may serve. */
#include "queue/queue_ready.h"

#include "queue/observer.h"
#include "queue/pattern_index.h"
#include "queue/queue.h"
#include "queue/queue_limits.h"

/* The rows that a claim requests at least while the counters are suspect or incomplete. */
#define SUSPECT_BUDGET 16

static struct list signalled = { &signalled, &signalled };

static bool counters_are_unsure(const struct queue *q) {
    return q->counters.suspect || queue_counters_are_incomplete();
}

bool queue_shows_job(const struct queue *q) {
    return q->counters.len > q->work->claims.rows + q->work->claims.planned || counters_are_unsure(q);
}

int64_t queue_unclaimed(const struct queue *q) {
    const struct queue_work *w = q->work;

    if (counters_are_unsure(q))
        return INT64_MAX;
    return q->counters.len + w->adds.sent - w->adds_ahead.sent - w->claims.rows - w->claims.planned;
}

static int64_t jobs_budget(const struct queue *q) {
    int64_t returned = (int64_t)q->scan.key_count;
    int64_t unscanned;

    if (queue_is_shut(q) || q->work->moving > 0 || q->limits->state != LIMIT_OPEN)
        return 0;
    if (!q->scan.may_have_more)
        return returned > q->work->claims.last_rows ? returned - q->work->claims.last_rows : 0;
    unscanned = q->counters.len - returned - q->work->claims.rows;
    if (counters_are_unsure(q) && unscanned < SUSPECT_BUDGET - q->work->claims.rows)
        unscanned = SUSPECT_BUDGET - q->work->claims.rows;
    /* len may be too small for a moment, so a claim always requests at least one row. */
    if (unscanned < 1)
        unscanned = q->work->claims.rows == 0 ? 1 : 0;
    return returned + unscanned;
}

int64_t queue_budget(const struct queue *q) {
    int64_t budget = jobs_budget(q);
    int64_t room;

    if (__builtin_expect(q->limits->server_most == 0, 1))
        return budget;
    room = limits_server_room(q);
    return budget < room ? budget : room;
}

bool queue_may_give(const struct queue *q) {
    return queue_budget(q) > 0 || q->counters.ahead > 0;
}

bool queue_is_awaited(struct queue *q) {
    return !list_empty(&q->work->waiting.list) || patterns_wait_for(q);
}

void queue_signal(struct queue *q) {
    patterns_note_queue(q);
    if (list_empty(&q->work->in_ready) && queue_is_awaited(q))
        list_push_back(&signalled, &queue_work(q)->in_ready);
}

struct queue *queue_next_signalled(void) {
    struct list *node = list_pop_front(&signalled);

    return node == NULL ? NULL : LIST_ENTRY(node, struct queue_work, in_ready)->q;
}

/* A job that became ready again may have freed a concurrency slot. */
static void place_key(struct queue *q, struct job_key key) {
    position_add_key(&q->scan, key);
    limits_receive_slot(q);
    queue_signal(q);
}

static void place_ready(struct queue *q, struct job_key key) {
    if (!job_key_before(q->scan.position, key))
        limits_receive_slot(q);
    position_add(&q->scan, key);
    queue_signal(q);
}

void queue_job_returned(struct queue *q, struct job_key key) {
    queue_count_len(q, 1);
    place_key(q, key);
    OBSERVE(returned, key);
}

void queue_jobs_moved(struct queue *q, struct job_key *from, size_t count, int16_t rank) {
    position_remove_keys(&q->scan, from, count);
    for (size_t i = 0; i < count; i++)
        place_key(q, (struct job_key){ from[i].queue_id, rank, from[i].id });
}

void queue_job_ready(struct queue *q, struct job_key key) {
    queue_count_len(q, 1);
    place_ready(q, key);
    OBSERVE(ready, q, key, 1);
}

void queue_receive_ready(struct queue *q, struct job_key key) {
    position_receive(&q->scan, key);
    place_ready(q, key);
}

/* If there may be other ready jobs after the scan position, the next scan finds this job, too. */
void queue_receive_returned(struct queue *q, struct job_key key) {
    position_receive(&q->scan, key);
    limits_receive_slot(q);
    if (!q->scan.may_have_more || !job_key_before(q->scan.position, key))
        place_key(q, key);
}

void queue_scan_from(struct queue *q, struct job_key key) {
    position_set_back(&q->scan, key);
    queue_signal(q);
}

void queue_jobs_arrived(struct queue *q, struct job_key first, int64_t count) {
    queue_count_len(q, count);
    queue_scan_from(q, (struct job_key){ first.queue_id, first.rank, first.id - 1 });
    OBSERVE(ready, q, first, count);
}

void queue_reset_scan(struct queue *q) {
    position_reset(&q->scan);
    queue_signal(q);
}

bool queue_misses_jobs(const struct queue *q) {
    return q->counters.len > 0 && position_is_exhausted(&q->scan) && q->work->claims.rows == 0;
}

struct job_key queue_first_key(const struct queue *q) {
    struct job_key first = q->scan.position;

    first.queue_id = q->id;
    if (q->scan.key_count > 0 && !job_key_before(first, q->scan.keys[0])) {
        first = q->scan.keys[0];
        first.id--;
    }
    return first;
}
