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

/* Maximum of rows that a search finds. A search that found as many may have left more. */
#define LIMIT 1000
/* Another server may commit an insert later than its wake_at, so a search sometimes begins this far back. Most
 * searches do not: while vacuum is held back, such a search passes over all dead rows of that time. */
#define EXPIRE_LATE_US (20 * US_PER_S)
#define LOOK_BACK_US (10 * US_PER_S)
/* A search looks this far ahead for the next row. It passes over the dead rows of that time only. */
#define LOOK_AHEAD_US (2 * US_PER_S)
#define RETRY_US US_PER_S
#define LOCKED_US (100 * US_PER_MS)
/* Queues of one statement. More queues take turns. */
#define SWEEP_QUEUES 1000
/* Maximum of queues examined in one turn, to find queues with expired jobs. */
#define SWEEP_LOOKS 20000
/* The ids of an hour: 41 bits of an id are milliseconds. The transaction of an SQL function may commit an insert so long
 * after it made the id. */
#define LATE_IDS (INT64_C(3600 * 1000) << 22)

/* Rows that a search found, for one statement of the write connection. */
struct change {
    struct task task;
    size_t count;
    struct job_key keys[LIMIT];
};

/* A search by wake_at reads on CONN_READ and locks nothing, because it may pass over many dead rows. If it finds rows,
 * two statements on CONN_WRITE change them by their keys: one removes the expired jobs, the other wakes the due jobs.
 * Both check again that the rows are due, and skip rows that another session has locked. */
static struct {
    struct task search;
    struct change expired;
    struct change due;
    size_t running; /* statements of the search that have not ended */
    size_t changed; /* rows that it removed or woke */
    bool failed;
    int64_t now;         /* time of the running search */
    int64_t begin;       /* it examines rows with a later wake_at */
    int64_t first, last; /* wake_at of the first and of the last row that it found */
    /* All rows with a wake_at up to here have been handled, or are missed. While a search runs: the jobs that were
     * announced since its beginning are later. */
    int64_t from;
    int64_t next_at;
    /* Rows that were found and not changed are later than that. Another session has locked them, or another server has
     * changed them. A search decides at missed_at. */
    int64_t missed_from;
    int64_t missed_at;
    int64_t looked_back;
} wake = {
    .search = { .op = &op_wake_next, .rows = 1 },
    .expired = { .task = { .op = &op_wake_expired } },
    .due = { .task = { .op = &op_wake_due } },
    .from = TIME_BEGINNING,
    .next_at = TIME_NEVER,
    .missed_from = TIME_NEVER,
    .missed_at = TIME_NEVER,
};

void expire_wake_at(int64_t us) {
    wake.next_at = int64_least(wake.next_at, us);
    wake.from = int64_least(wake.from, int64_minus(us, 1));
}

void expire_reset_scan(void) {
    wake.from = wake.looked_back = TIME_BEGINNING;
    wake.next_at = clock_db();
}

int64_t expire_next_wake(void) {
    return wake.running > 0 ? INT64_MAX : int64_least(wake.next_at, wake.missed_at);
}

/* Sets the beginning of this search back by EXPIRE_LATE_US, if the last time was LOOK_BACK_US ago. */
static void expire_look_back(void) {
    int64_t now = clock_db();

    if (now - LOOK_BACK_US < wake.looked_back)
        return;
    wake.looked_back = now;
    wake.from = int64_least(wake.from, now - EXPIRE_LATE_US);
}

static void look_at_missed(void) {
    if (wake.missed_at > clock_db())
        return;
    wake.from = int64_least(wake.from, wake.missed_from);
    wake.missed_from = wake.missed_at = TIME_NEVER;
}

void expire_wake(void) {
    if (wake.running > 0 || expire_next_wake() > clock_db())
        return;
    expire_look_back();
    look_at_missed();
    wake.running = 1;
    wake.changed = wake.expired.count = wake.due.count = 0;
    wake.failed = false;
    wake.begin = wake.from;
    wake.from = wake.next_at = TIME_NEVER;
    batch_add(&wake.search);
}

/* ---- the end of a search ---- */

static size_t wake_found(void) {
    return wake.expired.count + wake.due.count;
}

/* If a search found LIMIT rows, the next search begins at the last of them, because further rows may have the same
 * wake_at. It begins behind them if it would find the same rows again. */
static int64_t searched_to(void) {
    if (wake_found() < LIMIT)
        return wake.now;
    return wake.changed == 0 && wake.first == wake.last ? wake.last : int64_minus(wake.last, 1);
}

static void wake_end(void) {
    if (wake.failed) {
        wake.from = int64_least(wake.from, wake.begin);
        wake.next_at = clock_db() + RETRY_US;
        return;
    }
    if (wake.changed < wake_found()) {
        wake.missed_from = int64_least(wake.missed_from, int64_minus(wake.first, 1));
        wake.missed_at = int64_least(wake.missed_at, clock_db() + LOCKED_US);
    }
    if (wake_found() == LIMIT)
        wake.next_at = wake.now;
    wake.from = int64_least(wake.from, searched_to());
}

static void wake_statement_ended(void) {
    if (--wake.running == 0)
        wake_end();
}

/* The whole search is repeated later. */
static void wake_fail(struct task *t, const struct op_error *err) {
    (void)t;
    (void)err;
    wake.failed = true;
    wake_statement_ended();
}

/* ---- the search ---- */

static void search_begin(struct params *p) {
    wake.now = clock_db();
    params_set_time(p, 0, wake.begin);
    params_set_time(p, 1, wake.now);
    params_set_int4(p, 2, LIMIT);
    params_set_time(p, 3, wake.now + LOOK_AHEAD_US);
}

static void found_row(const PGresult *rows, int row) {
    struct change *c = row_bool(rows, row, COL_WAKE_NEXT_IS_EXPIRED) ? &wake.expired : &wake.due;
    int64_t at = row_time(rows, row, COL_WAKE_NEXT_WAKE_AT);

    if (at > wake.now) {
        wake.next_at = int64_least(wake.next_at, at);
        return;
    }
    if (wake_found() == LIMIT)
        return;
    c->keys[c->count++] = row_full_key(rows, row, COL_WAKE_NEXT_QUEUE_ID);
    wake.first = int64_least(wake.first, at);
    wake.last = at > wake.last ? at : wake.last;
}

static void change_start(struct change *c) {
    if (c->count == 0)
        return;
    c->task.rows = (uint32_t)c->count;
    wake.running++;
    batch_add(&c->task);
}

static void search_done(struct task *t, const PGresult *rows) {
    (void)t;
    wake.first = TIME_NEVER;
    wake.last = wake.begin;
    wake.next_at = int64_least(wake.next_at, wake.now + LOOK_AHEAD_US);
    for (int i = 0; i < PQntuples(rows); i++)
        found_row(rows, i);
    change_start(&wake.expired);
    change_start(&wake.due);
    wake_statement_ended();
}

OPERATION(wake_next, .alone = true, .begin = search_begin, .on_end = search_done, .fail = wake_fail);

/* ---- the changes ---- */

static void change_encode(struct params *p, struct task *t) {
    const struct change *c = CONTAINER_OF(t, struct change, task);

    for (size_t i = 0; i < c->count; i++)
        params_key(p, 0, c->keys[i]);
    params_set_time(p, 3, wake.now);
}

static void changes_done(const PGresult *rows) {
    wake.changed += (size_t)PQntuples(rows);
    wake_statement_ended();
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
    changes_done(rows);
}

static void due_encode(struct params *p, struct task *t) {
    change_encode(p, t);
    params_ensure_int4_array(p, 4);
    LIST_EACH(node, queue_paused_in())
        params_int4(p, 4, LIST_ENTRY(node, struct queue_work, in_paused)->q->id);
}

/* A job that is delayed again has a later ready_at. */
static void due_done(struct task *t, const PGresult *rows) {
    (void)t;
    for (int i = 0; i < PQntuples(rows); i++) {
        struct job_key key = row_full_key(rows, i, COL_WAKE_DUE_QUEUE_ID);

        if (row_time(rows, i, COL_WAKE_DUE_READY_AT) <= wake.now)
            job_entered(&(struct job_row){ .key = key }, JOB_WOKEN);
        expire_wake_at(row_time(rows, i, COL_WAKE_DUE_WAKE_AT));
    }
    changes_done(rows);
}

OPERATION(wake_expired, .alone = true, .encode = change_encode, .on_end = expired_done, .fail = wake_fail);

OPERATION(wake_due, .alone = true, .encode = due_encode, .on_end = due_done, .fail = wake_fail);

/* ---- expiry in key order ---- */

struct sweep {
    struct task task;
    int32_t queue_id;
    int64_t from_id, to_id;
    bool is_retry; /* of the first job that earlier sweeps have left */
};

static size_t sweeps; /* tasks that run */

void expire_in_order_from(struct queue *q, int64_t id) {
    q->swept_id = int64_minus(id, LATE_IDS);
}

static void sweep_queue(struct queue *q, int64_t from_id, int64_t to_id, bool is_retry) {
    struct sweep *s = xcalloc(1, sizeof *s);

    s->queue_id = q->id;
    s->from_id = from_id;
    s->to_id = to_id;
    s->is_retry = is_retry;
    task_init(&s->task, &op_expire_in_order);
    sweeps++;
    batch_add(&s->task);
}

static uint32_t looks(void) {
    return queue_slots() < SWEEP_LOOKS ? queue_slots() : SWEEP_LOOKS;
}

void expire_look_in_order(void) {
    static uint32_t next_slot;
    /* The newest id that has expired. */
    int64_t to_id = job_id_at(clock_db() - JOB_DEFAULT_TTL * US_PER_S);

    if (sweeps > 0)
        return;
    for (uint32_t left = looks(); left > 0 && sweeps < SWEEP_QUEUES; left--) {
        struct queue *q = queue_at(next_slot++ % queue_slots());

        if (q == NULL || q->id == 0 || q->counters.total <= 0)
            continue;
        if (q->left_id != 0)
            sweep_queue(q, int64_minus(q->left_id, 1), q->left_id, true);
        if (q->swept_id < to_id)
            sweep_queue(q, q->swept_id, to_id, false);
    }
}

static void sweep_begin(struct params *p) {
    params_set_int4(p, 4, LIMIT);
    params_set_time(p, 5, clock_db());
}

static void sweep_encode(struct params *p, struct task *t) {
    const struct sweep *s = CONTAINER_OF(t, struct sweep, task);

    params_int4(p, 0, s->queue_id);
    params_int2(p, 1, 0);
    params_int8(p, 2, s->from_id);
    params_int8(p, 3, s->to_id);
}

static void sweep_end(struct sweep *s) {
    sweeps--;
    free(s);
}

/* The queue remembers the first such job. */
static void sweep_note_left(struct job_key key) {
    struct queue *q = queue_find_id(key.queue_id);

    if (q != NULL && (q->left_id == 0 || key.id < q->left_id))
        q->left_id = key.id;
}

static void sweep_rows(const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++) {
        if (row_null(rows, i, COL_EXPIRE_IN_ORDER_QUEUED_SINCE))
            sweep_note_left(row_full_key(rows, i, COL_EXPIRE_IN_ORDER_QUEUE_ID));
        else
            expire(rows, i);
    }
}

/* After a retry that did not leave its job, the next sweep finds the other jobs that were left. A sweep that another id
 * has set back begins again. */
static void sweep_settle(const struct sweep *s, bool has_more) {
    struct queue *q = queue_find_id(s->queue_id);

    if (q == NULL)
        return;
    if (s->is_retry && q->left_id != s->to_id)
        q->swept_id = int64_least(q->swept_id, s->to_id);
    if (!s->is_retry && q->swept_id == s->from_id && !has_more)
        q->swept_id = s->to_id;
}

/* A retry that leaves its job sets left_id again. */
static void sweep_forget_left(const struct sweep *s) {
    struct queue *q = queue_find_id(s->queue_id);

    if (q != NULL && s->is_retry)
        q->left_id = 0;
}

/* If the result has as many rows as the limit, the queues may have more. They are swept again from the same key. That is
 * cheap, because the rows of the expired jobs are gone. */
static void sweep_done(struct task **tasks, size_t count, const PGresult *rows) {
    bool has_more = PQntuples(rows) >= LIMIT;

    for (size_t i = 0; i < count; i++)
        sweep_forget_left(CONTAINER_OF(tasks[i], struct sweep, task));
    sweep_rows(rows);
    for (size_t i = 0; i < count; i++) {
        struct sweep *s = CONTAINER_OF(tasks[i], struct sweep, task);

        sweep_settle(s, has_more);
        sweep_end(s);
    }
}

static void sweep_fail(struct task *t, const struct op_error *err) {
    (void)err;
    sweep_end(CONTAINER_OF(t, struct sweep, task));
}

OPERATION(expire_in_order, .begin = sweep_begin, .encode = sweep_encode, .done = sweep_done,
          .fail = sweep_fail);
