/* Ends of delays and of times to live: by the index on wake_at, or in key order. */
#include "jobs/expire.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/job_key.h"
#include "base/saturate.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/job.h"
#include "queue/queue.h"
#include "queue/settings.h"

/* Rows that one statement examines. A search that changed as many may have left more. */
#define LIMIT 1000
/* Another server may commit an insert later than its wake_at, so a search sometimes begins this far back. Most
 * searches do not: while vacuum is held back, such a search passes over all dead rows of that time. */
#define LATE_US (20 * US_PER_S)
#define LOOK_BACK_US (10 * US_PER_S)
#define RETRY_US US_PER_S
#define LOCKED_US (100 * US_PER_MS)
/* Queues of one statement. More queues take turns. */
#define SWEEP_QUEUES 1000
/* Maximum of queues examined in one turn, to find queues with expired jobs. */
#define SWEEP_LOOKS 20000

/* A search by wake_at is three statements of one transaction: remove expired jobs, wake due jobs, read the next
 * wake_at. If another session locks the table, each statement is tried again by itself, and they end in any order.
 * All rows with a wake_at up to from have been handled. */
static struct {
    struct task expired;
    struct task due;
    struct task next;
    size_t running; /* statements of the search that have not ended */
    int changed;    /* rows that it removed or woke */
    bool failed;
    int64_t from;
    int64_t now; /* time of the running search */
    int64_t looked_back;
    int64_t next_at;
} wake = {
    .expired = { .op = &op_wake_expired, .rows = 1 },
    .due = { .op = &op_wake_due, .rows = 1 },
    .next = { .op = &op_wake_next, .rows = 1 },
    .from = TIME_BEGINNING,
    .next_at = TIME_NEVER,
};

void expire_wake_at(int64_t us) {
    if (us < wake.next_at)
        wake.next_at = us;
    if (us <= wake.from)
        wake.from = int64_minus(us, 1);
}

void expire_reset_scan(void) {
    wake.from = wake.looked_back = TIME_BEGINNING;
    wake.next_at = clock_db();
}

int64_t expire_next_wake(void) {
    return wake.running > 0 ? INT64_MAX : wake.next_at;
}

/* Sets the beginning of this search back by LATE_US, if the last time was LOOK_BACK_US ago. */
static void expire_look_back(void) {
    int64_t now = clock_db();

    if (now - LOOK_BACK_US < wake.looked_back)
        return;
    wake.looked_back = now;
    if (now - LATE_US < wake.from)
        wake.from = now - LATE_US;
}

void expire_wake(void) {
    if (wake.running > 0 || wake.next_at > clock_db())
        return;
    wake.running = 3;
    wake.changed = 0;
    wake.failed = false;
    wake.next_at = TIME_NEVER;
    expire_look_back();
    batch_add(&wake.expired);
    batch_add(&wake.due);
    batch_add(&wake.next);
}

/* ---- wake_at ---- */

static void expired_begin(struct params *p) {
    wake.now = clock_db();
    params_set_time(p, 0, wake.from);
    params_set_time(p, 1, wake.now);
    params_set_int4(p, 2, LIMIT);
}

/* Columns: queue_id, rank, id, queued_since, expires_at, retry, group_key, is_dead, in_flow. */
static void expire(const PGresult *rows, int row) {
    struct job_key key = row_full_key(rows, row, COL_WAKE_EXPIRED_QUEUE_ID);
    bool dead = row_bool(rows, row, COL_WAKE_EXPIRED_IS_DEAD);

    job_left(&(struct job_row){ .key = key,
                                .queued_since = row_time(rows, row, COL_WAKE_EXPIRED_QUEUED_SINCE),
                                .expires_at = row_time(rows, row, COL_WAKE_EXPIRED_EXPIRES_AT),
                                .retry = row_int4(rows, row, COL_WAKE_EXPIRED_RETRY),
                                .group = row_bytes_or_null(rows, row, COL_WAKE_EXPIRED_GROUP_KEY),
                                .in_flow = !row_null(rows, row, COL_WAKE_EXPIRED_IN_FLOW),
                                .is_dead_job = dead },
             dead ? JOB_DEAD : JOB_EXPIRED);
}

static void expired_done(struct task *t, const PGresult *rows) {
    (void)t;
    for (int i = 0; i < PQntuples(rows); i++)
        expire(rows, i);
    wake.changed += PQntuples(rows);
    wake.running--;
}

static void due_encode(struct params *p, struct task *t) {
    (void)t;
    params_set_time(p, 0, wake.from);
    params_set_time(p, 1, wake.now);
    params_set_int4(p, 2, LIMIT);
    params_ensure_int4_array(p, 3);
    LIST_EACH(node, queue_paused_in())
        params_int4(p, 3, LIST_ENTRY(node, struct queue, in_paused)->id);
}

static void due_done(struct task *t, const PGresult *rows) {
    (void)t;
    for (int i = 0; i < PQntuples(rows); i++) {
        struct job_key key = row_full_key(rows, i, COL_WAKE_DUE_QUEUE_ID);

        if (row_time(rows, i, COL_WAKE_DUE_READY_AT) <= wake.now)
            job_entered(&(struct job_row){ .key = key }, JOB_WOKEN);
    }
    wake.changed += PQntuples(rows);
    wake.running--;
}

static void expire_next_begin(struct params *p) {
    params_set_time(p, 0, wake.from);
}

/* The next search begins at the first row that is left. So it does not visit the dead rows of this search again. */
static void expire_next_done(struct task *t, const PGresult *rows) {
    (void)t;
    if (PQntuples(rows) > 0)
        expire_wake_at(row_time(rows, 0, COL_WAKE_NEXT_WAKE_AT));
    if (!wake.failed)
        wake.from = wake.next_at <= wake.now ? int64_minus(wake.next_at, 1) : wake.now;
    /* A due row that was not taken is locked by another session. */
    if (wake.changed < LIMIT && wake.next_at <= wake.now)
        wake.next_at = wake.now + LOCKED_US;
    wake.running--;
}

/* The whole search is repeated later. */
static void wake_fail(struct task *t, const struct op_error *err) {
    (void)t;
    (void)err;
    wake.next_at = clock_db() + RETRY_US;
    wake.failed = true;
    wake.running--;
}

OPERATION(wake_expired, .alone = true, .begin = expired_begin, .on_end = expired_done, .fail = wake_fail);

OPERATION(wake_due, .alone = true, .encode = due_encode, .on_end = due_done, .fail = wake_fail);

OPERATION(wake_next, .alone = true, .begin = expire_next_begin, .on_end = expire_next_done,
          .fail = wake_fail);

/* ---- expiry in key order ---- */

struct sweep {
    struct task task;
    int32_t queue_id;
    int64_t from_id;
};

static int64_t sweep_to; /* the newest id that has expired */
static size_t sweeps;    /* statements that run */

static void sweep_queue(struct queue *q) {
    struct sweep *s = xcalloc(1, sizeof *s);

    s->queue_id = q->id;
    s->from_id = q->swept_id;
    task_init(&s->task, &op_expire_in_order);
    sweeps++;
    batch_add(&s->task);
}

static uint32_t looks(void) {
    return queue_slots() < SWEEP_LOOKS ? queue_slots() : SWEEP_LOOKS;
}

void expire_look_in_order(void) {
    static uint32_t next_slot;

    if (sweeps > 0)
        return;
    sweep_to = job_id_at(clock_db() - JOB_DEFAULT_TTL * US_PER_S);
    for (uint32_t left = looks(); left > 0 && sweeps < SWEEP_QUEUES; left--) {
        struct queue *q = queue_at(next_slot++ % queue_slots());

        if (q != NULL && q->id != 0 && q->counters.total > 0 && q->swept_id < sweep_to)
            sweep_queue(q);
    }
}

static void sweep_begin(struct params *p) {
    params_set_int8(p, 3, sweep_to);
    params_set_int4(p, 4, LIMIT);
    params_set_time(p, 5, clock_db());
}

static void sweep_encode(struct params *p, struct task *t) {
    const struct sweep *s = CONTAINER_OF(t, struct sweep, task);

    params_int4(p, 0, s->queue_id);
    params_int2(p, 1, 0);
    params_int8(p, 2, s->from_id);
}

static void sweep_end(struct sweep *s) {
    sweeps--;
    free(s);
}

/* If the result has as many rows as the limit, the queues may have more. They are swept again from the same key.
 * That is cheap, because the rows that were found are gone. */
static void sweep_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++)
        expire(rows, i);
    for (size_t i = 0; i < count; i++) {
        struct sweep *s = CONTAINER_OF(tasks[i], struct sweep, task);
        struct queue *q = queue_find_id(s->queue_id);

        if (q != NULL && PQntuples(rows) < LIMIT)
            q->swept_id = sweep_to;
        sweep_end(s);
    }
}

static void sweep_fail(struct task *t, const struct op_error *err) {
    (void)err;
    sweep_end(CONTAINER_OF(t, struct sweep, task));
}

OPERATION(expire_in_order, .begin = sweep_begin, .encode = sweep_encode, .done = sweep_done,
          .fail = sweep_fail);
