/* Counts the jobs of all queues in the database, and corrects the counters in memory. */
#include "jobs/recount.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/job_key.h"
#include "base/log.h"
#include "base/saturate.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/expire.h"
#include "queue/lease.h"
#include "queue/queue.h"
#include "queue/queue_ready.h"

/* A queue at the moment of the snapshot. */
struct noted_queue {
    int32_t queue_id;           /* 0: the slot has no queue with a row */
    bool exhausted;             /* position_is_exhausted() */
    int64_t queued;             /* by the counters in memory */
    struct job_key first;       /* queue_first_key() */
    struct queue_share missing; /* by how much the count exceeds the counters in memory */
    /* The queue, which has this user, if its scan position is at the beginning: the count is a scan from there. Or NULL. */
    struct queue *unscanned;
    struct queue_scan count_scan;
    int64_t counted_queued;       /* by the database */
    struct job_key counted_first; /* if counted_queued is not 0 */
};

static struct {
    struct task task;
    struct noted_queue *noted; /* by the slot of the queue */
    uint32_t count;
    int64_t begun_id; /* jobs that this server adds later have newer ids */
    bool invalid;
    void (*on_snapshot)(void);
    void (*on_end)(bool ok);
} recount = { .task = { .op = &op_load_counts, .rows = 1 } };

bool recount_is_under_way(void) {
    return recount.on_end != NULL;
}

void recount_invalidate(void) {
    recount.invalid = true;
}

void recount_start(void (*on_snapshot)(void), void (*on_end)(bool ok)) {
    recount.on_snapshot = on_snapshot;
    recount.on_end = on_end;
    recount.invalid = false;
    batch_add_still(&recount.task, recount_invalidate);
}

/* ---- the moment of the snapshot ---- */

static void begin_unscanned(struct noted_queue *n, struct queue *q) {
    n->unscanned = q;
    n->count_scan.snapshot_end = recount.begun_id;
    position_begin(&q->scan, &n->count_scan);
    position_note_apart(&q->scan, &n->count_scan);
    q->users++;
}

static void end_unscanned(struct noted_queue *n) {
    if (n->unscanned == NULL)
        return;
    position_end(&n->count_scan);
    n->unscanned->users--;
}

static void note_queue(struct noted_queue *n, struct queue *q) {
    const struct queue_counters *c = &q->counters;

    n->queue_id = q->id;
    n->exhausted = position_is_exhausted(&q->scan);
    n->queued = c->len;
    n->first = queue_first_key(q);
    n->missing = (struct queue_share){
        .len = -c->len, .total = -c->total, .dead = -c->dead, .delayed = -c->delayed, .waiting = -c->waiting
    };
    if (position_is_at_beginning(&q->scan))
        begin_unscanned(n, q);
}

static struct noted_queue *noted_of(const struct queue *q) {
    struct noted_queue *n = q->slot < recount.count ? &recount.noted[q->slot] : NULL;

    return n != NULL && n->queue_id == q->id ? n : NULL;
}

/* A queued task holds a lease beyond its end. Until the task has ended, the database counts the job as queued, and memory
 * does not. */
static void note_overdue(struct job_key key) {
    const struct queue *q = queue_find_id(key.queue_id);
    struct noted_queue *n = q == NULL ? NULL : noted_of(q);

    if (n != NULL)
        n->missing.len--;
}

/* The leases that end at $1 or before have ended in memory, because a turn has one time. */
static void recount_begin(struct params *p) {
    /* This server may make more ids in this millisecond. */
    recount.begun_id = job_id_at(clock_db() - US_PER_MS);
    recount.count = queue_slots();
    recount.noted = xcalloc(recount.count, sizeof *recount.noted);
    QUEUE_EACH(q)
    if (q->id != 0)
        note_queue(&recount.noted[q->slot], q);
    lease_each_overdue(clock_db(), note_overdue);
    queue_counters_note_others(true);
    recount.on_snapshot();
    params_set_time(p, 0, clock_db());
}

/* ---- the end ---- */

static void recount_end(bool ok) {
    void (*on_end)(bool) = recount.on_end;

    for (uint32_t i = 0; i < recount.count; i++)
        end_unscanned(&recount.noted[i]);
    free(recount.noted);
    recount.noted = NULL;
    recount.count = 0;
    recount.on_end = NULL;
    queue_counters_note_others(false);
    on_end(ok);
}

/* A job without an order of expiry by its key has its own time. */
static void note_oldest(struct queue *q, const PGresult *rows, int row) {
    int64_t first = row_null(rows, row, COL_LOAD_COUNTS_OLDEST_ID)
                        ? recount.begun_id
                        : row_int8(rows, row, COL_LOAD_COUNTS_OLDEST_ID);

    if (q->swept_id == 0 || first <= q->swept_id)
        expire_in_order_from(q, first);
}

static void note_count(struct noted_queue *n, const PGresult *rows, int row) {
    n->missing.total += row_int8(rows, row, COL_LOAD_COUNTS_JOBS);
    n->missing.len += row_int8(rows, row, COL_LOAD_COUNTS_QUEUED);
    n->missing.delayed += row_int8(rows, row, COL_LOAD_COUNTS_DELAYED);
    n->missing.waiting += row_int8(rows, row, COL_LOAD_COUNTS_WAITING);
    n->missing.dead += row_int8(rows, row, COL_LOAD_COUNTS_DEAD);
    if (row_null(rows, row, COL_LOAD_COUNTS_FIRST_ID))
        return;
    n->counted_queued = row_int8(rows, row, COL_LOAD_COUNTS_QUEUED);
    n->counted_first = (struct job_key){ n->queue_id, row_int2(rows, row, COL_LOAD_COUNTS_FIRST_RANK),
                                         row_int8(rows, row, COL_LOAD_COUNTS_FIRST_ID) };
}

/* Another server, or an SQL function, may have made the queue since the queues were loaded. */
static void read_count(const PGresult *rows, int row) {
    int32_t id = row_int4(rows, row, COL_LOAD_COUNTS_QUEUE_ID);
    struct queue *q = queue_find_id(id);
    struct noted_queue *n = q == NULL ? NULL : noted_of(q);

    if (q == NULL)
        log_warning("load", "there are jobs of queue number %d, which this server does not know yet", id);
    else if (n == NULL)
        queue_suspect(q);
    else {
        note_count(n, rows, row);
        note_oldest(q, rows, row);
    }
}

/* No ready job is before the first one of the count. */
static void place_scan(struct queue *q, const struct noted_queue *n) {
    struct job_key before = n->counted_first;

    if (n->unscanned == NULL && n->counted_queued == 0)
        return;
    before.id = int64_minus(before.id, 1);
    if (n->unscanned != NULL) {
        if (n->counted_queued > 0)
            position_expect(&q->scan);
        position_advance(&q->scan, &n->count_scan, &before, n->counted_queued == 0);
        queue_signal(q);
    } else if (n->exhausted || n->counted_queued != n->queued ||
               !job_key_before(n->first, n->counted_first)) {
        queue_scan_from(q, before);
    }
}

static void correct(struct queue *q, const struct noted_queue *n) {
    queue_correct(q, &n->missing);
    if (q->counters.len > 0 || q->counters.dead > 0)
        queue_show(q);
    if (n->queued <= 0 && n->counted_queued > 0)
        queue_set_oldest(q, job_created_us(n->counted_first.id));
    place_scan(q, n);
}

static void recount_done(struct task *t, const PGresult *rows) {
    (void)t;
    for (int i = 0; i < PQntuples(rows) && !recount.invalid; i++)
        read_count(rows, i);
    for (uint32_t i = 0; i < recount.count && !recount.invalid; i++) {
        struct queue *q = queue_find_id(recount.noted[i].queue_id);

        if (q != NULL)
            correct(q, &recount.noted[i]);
    }
    if (!recount.invalid)
        expire_reset_scan();
    recount_end(!recount.invalid);
}

/* The connection has logged the error. */
static void recount_fail(struct task *t, const struct op_error *err) {
    (void)t;
    (void)err;
    recount_end(false);
}

static bool recount_again(struct task *t, bool unknown) {
    (void)t;
    (void)unknown;
    recount_end(false);
    return false;
}

OPERATION(load_counts, .alone = true, .begin = recount_begin, .on_end = recount_done, .fail = recount_fail,
          .again = recount_again);
