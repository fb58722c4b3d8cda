/* Groups: releases the next job, and finds stuck groups. */
#include "jobs/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/node.h"
#include "base/timer.h"
#include "batch/batch.h"
#include "batch/dead_rows.h"
#include "batch/operations.h"
#include "jobs/job.h"
#include "jobs/prune.h"
#include "queue/follow_up.h"
#include "queue/queue_limits.h"

/* The first try inserts the row of a new group. During a try another session may have locked the row. */
#define GROUP_MAX_TRIES 4
#define LOOK_LIMIT 1000
/* Groups of a page. */
#define PRUNE_LIMIT 1000
/* The next search for stuck groups waits for this many times the duration of the last one, and at most so long. */
#define LOOK_TIMES 20
#define LOOK_REST_MOST_US (20 * US_PER_S)
/* A search passes over the dead rows of all groups. With many of them, the rest is longer. */
#define DEAR_LOOK_TIMES 200
#define DEAR_LOOK_REST_MOST_US (60 * US_PER_S)
#define UNUSED_US (600 * US_PER_S)
/* The commit of a job may come so long after its id was made. A search that does not begin at the first job may miss such
 * a job. The search goes back five seconds, because the clocks of servers differ: next_in_groups.sql. */
#define GROUP_LATE_US (2 * US_PER_S)
/* The most groups that this server remembers because they wait for tokens. The search finds further groups. */
#define PACED_MOST 10000

struct next {
    struct task task;
    struct follow_up follow_up; /* while its statement is under way */
    struct timer due;           /* while it waits for tokens */
    UT_hash_handle hh;          /* while it waits for tokens */
    int64_t wait_us;            /* time until there are tokens; 0: not waiting for them */
    int64_t interval_us;        /* limits_group_interval_us() when the statement was built */
    unsigned tries;
    bool is_late; /* a job has joined late */
    size_t len;
    char name[]; /* name of the group: the ID of its queue in 4 bytes, then its key */
};

/* Groups that wait for tokens, each once. */
static struct next *paced;

static int32_t queue_of(const struct next *n) {
    int32_t id;

    memcpy(&id, n->name, sizeof id);
    return id;
}

static struct next *find_paced(const struct next *n) {
    struct next *found;

    HASH_FIND(hh, paced, n->name, n->len, found);
    return found;
}

static struct next *next_new(int32_t queue_id, struct slice key, bool is_late) {
    size_t len = sizeof queue_id + key.len;
    struct next *n = xcalloc(1, sizeof *n + len);

    n->len = len;
    n->is_late = is_late;
    memcpy(n->name, &queue_id, sizeof queue_id);
    memcpy(n->name + sizeof queue_id, key.ptr, key.len);
    task_init(&n->task, &op_next_in_groups);
    n->task.bytes = key.len;
    return n;
}

static void next_send(struct next *n) {
    follow_up_begin(&n->follow_up, queue_of(n));
    batch_add(&n->task);
}

static void groups_check(int32_t queue_id, struct slice key, bool is_late) {
    struct next *n = next_new(queue_id, key, is_late), *waits = find_paced(n);

    if (waits == NULL) {
        next_send(n);
        return;
    }
    waits->is_late |= is_late;
    free(n);
}

void group_next(int32_t queue_id, struct slice group) {
    groups_check(queue_id, group, false);
}

void group_joined(struct job_key key, struct slice group) {
    groups_check(key.queue_id, group, clock_db() - job_created_us(key.id) > GROUP_LATE_US);
}

static void next_begin(struct params *p) {
    params_set_time(p, 2, clock_db());
}

static void groups_next_encode(struct params *p, struct task *t) {
    struct next *n = CONTAINER_OF(t, struct next, task);

    n->interval_us = limits_group_interval_us(queue_find_id(queue_of(n)));
    params_int4(p, 0, queue_of(n));
    params_bytea(p, 1, (struct slice){ n->name + sizeof(int32_t), n->len - sizeof(int32_t) });
    params_int2(p, 3, n->is_late);
}

static void on_tokens(struct timer *t) {
    struct next *n = CONTAINER_OF(t, struct next, due);

    HASH_DEL(paced, n);
    n->wait_us = 0;
    n->tries = 0;
    next_send(n);
}

/* The row of the group says that a late job was not found yet. */
static void pace(struct next *n) {
    n->is_late = false;
    if (find_paced(n) != NULL || HASH_COUNT(paced) >= PACED_MOST) {
        free(n);
        return;
    }
    timer_set(&n->due, clock_mono() + n->wait_us, on_tokens);
    HASH_ADD_KEYPTR(hh, paced, n->name, n->len, n);
}

/* Groups that wait for the tokens of a former rate do not wait. */
static void groups_pace_again(void) {
    static uint64_t seen;
    struct next *n, *following;

    if (seen == limits_changes())
        return;
    seen = limits_changes();
    HASH_ITER(hh, paced, n, following) {
        if (n->interval_us == limits_group_interval_us(queue_find_id(queue_of(n))))
            continue;
        timer_stop(&n->due);
        on_tokens(&n->due);
    }
}

/* Columns: ordinal, rank, id, wait_ms. */
static void next_row(struct task *t, const PGresult *rows, int row) {
    struct next *n = CONTAINER_OF(t, struct next, task);

    if (!row_null(rows, row, COL_NEXT_IN_GROUPS_RANK)) {
        job_entered(&(struct job_row){ .key = row_key(queue_of(n), rows, row, COL_NEXT_IN_GROUPS_RANK) },
                    JOB_UNBLOCKED);
        return;
    }
    n->tries = GROUP_MAX_TRIES;
    if (!row_null(rows, row, COL_NEXT_IN_GROUPS_WAIT_MS))
        n->wait_us = row_int4(rows, row, COL_NEXT_IN_GROUPS_WAIT_MS) * US_PER_MS;
}

static void next_end(struct task *t, const PGresult *rows) {
    struct next *n = CONTAINER_OF(t, struct next, task);

    (void)rows;
    if (n->wait_us == 0 && ++n->tries < GROUP_MAX_TRIES) {
        batch_add(&n->task);
        return;
    }
    follow_up_end(&n->follow_up);
    if (n->wait_us > 0)
        pace(n);
    else
        free(n);
}

/* groups_look() finds the group. */
static void next_fail(struct task *t, const struct op_error *err) {
    struct next *n = CONTAINER_OF(t, struct next, task);

    (void)err;
    follow_up_end(&n->follow_up);
    free(n);
}

OPERATION(next_in_groups, .begin = next_begin, .encode = groups_next_encode, .on_row = next_row,
          .on_end = next_end, .fail = next_fail);

/* ---- groups of jobs that SQL functions report ---- */

struct groups_named {
    struct task task;
    struct job_key key;
};

void group_find_and_join(struct job_key key) {
    struct groups_named *n = xcalloc(1, sizeof *n);

    n->key = key;
    task_init(&n->task, &op_find_groups);
    batch_add(&n->task);
}

static void groups_find_encode(struct params *p, struct task *t) {
    params_key(p, 0, CONTAINER_OF(t, struct groups_named, task)->key);
}

static void groups_find_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++)
        if (!row_null(rows, i, COL_FIND_GROUPS_GROUP_KEY))
            group_joined((struct job_key){ .queue_id = row_int4(rows, i, COL_FIND_GROUPS_QUEUE_ID),
                                           .id = row_int8(rows, i, COL_FIND_GROUPS_ID) },
                         row_bytes(rows, i, COL_FIND_GROUPS_GROUP_KEY));
    for (size_t i = 0; i < count; i++)
        free(CONTAINER_OF(tasks[i], struct groups_named, task));
}

/* After a failure groups_look() finds the groups. */
OPERATION(find_groups, .encode = groups_find_encode, .done = groups_find_done, .fail = task_free_failed);

/* ---- stuck groups ---- */

static struct {
    struct task task;
    int64_t sent_us; /* clock_mono() */
    int64_t next_us;
} groups_search = { .task = { .op = &op_stuck_groups, .rows = 1 } };

void groups_look(void) {
    groups_pace_again();
    if (!node_is_leader() || groups_search.task.state != TASK_IDLE || clock_mono() < groups_search.next_us)
        return;
    batch_add(&groups_search.task);
}

/* The time without a connection is no part of the duration of a search. */
static void groups_look_begin(struct params *p) {
    groups_search.sent_us = clock_mono();
    params_set_time(p, 0, clock_db());
    params_set_int4(p, 1, LOOK_LIMIT);
}

static int64_t groups_rest_end(void) {
    if (dead_rows_of_jobs() > DEAD_ROWS_FEW)
        return clock_rest_end(groups_search.sent_us, DEAR_LOOK_TIMES, DEAR_LOOK_REST_MOST_US);
    return clock_rest_end(groups_search.sent_us, LOOK_TIMES, LOOK_REST_MOST_US);
}

static void groups_look_done(struct task *t, const PGresult *rows) {
    (void)t;
    for (int i = 0; i < PQntuples(rows); i++)
        groups_check(row_int4(rows, i, COL_STUCK_GROUPS_QUEUE_ID), row_bytes(rows, i, COL_STUCK_GROUPS_KEY),
                     true);
    groups_search.next_us = groups_rest_end();
}

/* After a failure the next search comes at the next call. */
OPERATION(stuck_groups, .alone = true, .begin = groups_look_begin, .on_end = groups_look_done);

/* ---- unused groups ---- */

/* The pages end with one that is not full. */
static struct {
    struct prune pages;
    int32_t queue_id; /* with key: the last group of the page before; 0: the next page is the first */
    struct buf key;
} unused_groups = { .pages = { .task = { .op = &op_prune_groups, .rows = 1 } } };

void groups_prune(void) {
    if (node_is_leader())
        prune_start(&unused_groups.pages);
}

static void groups_prune_begin(struct params *p) {
    prune_sent(&unused_groups.pages);
    params_set_time(p, 0, clock_db() - UNUSED_US);
    params_set_int4(p, 1, PRUNE_LIMIT);
    params_set_time(p, 2, clock_db());
    params_set_int4(p, 3, unused_groups.queue_id);
    params_set_bytea(p, 4, (struct slice){ buf_ptr(&unused_groups.key), buf_len(&unused_groups.key) });
}

static void groups_prune_done(struct task *t, const PGresult *rows) {
    bool is_full = PQntuples(rows) > 0;

    (void)t;
    buf_reset(&unused_groups.key, 0);
    unused_groups.queue_id = 0;
    if (is_full) {
        struct slice key = row_bytes(rows, 0, COL_PRUNE_GROUPS_KEY);

        unused_groups.queue_id = row_int4(rows, 0, COL_PRUNE_GROUPS_QUEUE_ID);
        buf_append(&unused_groups.key, key.ptr, key.len);
    }
    prune_ended(&unused_groups.pages, is_full);
}

OPERATION(prune_groups, .alone = true, .begin = groups_prune_begin, .on_end = groups_prune_done);
