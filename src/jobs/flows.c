/* Workflows and batches: counts the ends of jobs, and finds ends that were not counted. */
#include "jobs/flows.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/node.h"
#include "base/timer.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/job.h"
#include "queue/follow_up.h"

/* While another session has locked a row, the next try comes after a pause. Later flows_look() finds the job. */
#define FLOW_MAX_TRIES 6
#define PAUSE_US (20 * US_PER_MS)
/* Successors of a job that a statement counts. Further ones follow in statements of their own, so that other tasks are
 * sent between them. */
#define COUNT_LIMIT 100
/* Jobs whose ends a statement counts. */
#define ENDS_MOST 500
/* Jobs that a search looks at, or deletes. */
#define LOOK_LIMIT 2000
#define PRUNE_LIMIT 10000
#define BATCHES_LIMIT 1000
#define EXPIRED_LIMIT 1000
/* The next search waits for this many times the duration of the last one, and at least a second after the last page. The
 * most time is for a server or a database that stood still: its search took no work. */
#define LOOK_TIMES 20
#define LOOK_REST_MOST_US (2 * US_PER_S)
/* Settled jobs stay for a while: a client may name them as predecessors. Complete batches stay for a day. With failed or
 * cancelled jobs they stay for 30 days, because these may be revived. */
#define JOB_KEEP_US (60 * US_PER_S)
#define BATCH_KEEP_US (86400 * US_PER_S)
#define BAD_BATCH_KEEP_US (30 * BATCH_KEEP_US)

struct flow_end {
    struct task task;
    struct follow_up follow_up; /* while its statement is under way */
    struct timer due;           /* the next try */
    int64_t id;
    unsigned tries;  /* pages do not count */
    bool is_counted; /* its end was counted */
    bool has_more;   /* more jobs wait for it */
    bool has_page;   /* the statement found some of them */
    bool after_holds;
    /* With after_holds: the next page of its successors begins after this one; 0: with the first. */
    int64_t after;
};

static void flow_end_send(struct flow_end *e) {
    follow_up_begin(&e->follow_up, 0);
    batch_add(&e->task);
}

static void flow_end_new(int64_t id, struct op *op) {
    struct flow_end *e = xcalloc(1, sizeof *e);

    e->id = id;
    task_init(&e->task, op);
    flow_end_send(e);
}

static void flow_end_free(struct flow_end *e) {
    follow_up_end(&e->follow_up);
    free(e);
}

void flow_job_ended(int64_t id) {
    flow_end_new(id, &op_end_in_flows);
}

void flow_batch_closed(int64_t id) {
    flow_end_new(id, &op_complete_batches);
}

static void flow_end_begin(struct params *p) {
    params_set_time(p, 1, clock_db());
    params_set_int4(p, 2, COUNT_LIMIT);
}

static void complete_begin(struct params *p) {
    params_set_time(p, 1, clock_db());
}

static void flow_end_encode(struct params *p, struct task *t) {
    const struct flow_end *e = CONTAINER_OF(t, struct flow_end, task);

    params_int8(p, 0, e->id);
    params_int2(p, 3, e->after_holds);
    params_int8(p, 4, e->after);
}

static void complete_encode(struct params *p, struct task *t) {
    params_int8(p, 0, CONTAINER_OF(t, struct flow_end, task)->id);
}

/* ---- results ---- */

/* The job was in no queue until now. */
static void flow_job_enters(const PGresult *rows, int row) {
    bool delayed = !row_null(rows, row, COL_END_IN_FLOWS_WAKE_AT);
    int64_t expires_at = row_time(rows, row, COL_END_IN_FLOWS_EXPIRES_AT);

    job_entered(
        &(struct job_row){ .key = row_full_key(rows, row, COL_END_IN_FLOWS_QUEUE_ID),
                           .delayed = delayed,
                           .wake_at = delayed ? row_time(rows, row, COL_END_IN_FLOWS_WAKE_AT) : expires_at,
                           .expires_at = expires_at,
                           .retry = row_int4(rows, row, COL_END_IN_FLOWS_RETRY),
                           .group = row_bytes_or_null(rows, row, COL_END_IN_FLOWS_GROUP_KEY) },
        JOB_ADDED);
}

/* A failed batch without a completion job has the outcome of a dead letter, and is none. */
static enum job_exit flow_exit(int32_t outcome, bool is_dead_letter) {
    static const enum job_exit exits_by_outcome[] = { JOB_DONE, JOB_DONE, JOB_CLEARED, JOB_CANCELLED,
                                                      JOB_EXPIRED };

    return is_dead_letter ? JOB_DEAD : exits_by_outcome[outcome];
}

static void flow_job_counted(struct flow_end *e, const PGresult *rows, int row, bool has_more) {
    e->is_counted = true;
    e->has_more = has_more;
    e->has_page = !row_null(rows, row, COL_END_IN_FLOWS_LAST_ID);
    e->after_holds = e->has_page && row_bool(rows, row, COL_END_IN_FLOWS_LAST_HOLDS);
    e->after = e->has_page ? row_int8(rows, row, COL_END_IN_FLOWS_LAST_ID) : 0;
    if (!row_null(rows, row, COL_END_IN_FLOWS_EXIT)) {
        bool is_dead_letter = row_bool(rows, row, COL_END_IN_FLOWS_IS_DEAD_LETTER);

        job_never_ran(&(struct job_row){ .key = row_full_key(rows, row, COL_END_IN_FLOWS_QUEUE_ID),
                                         .expires_at = row_time(rows, row, COL_END_IN_FLOWS_EXPIRES_AT),
                                         .retry = row_int4(rows, row, COL_END_IN_FLOWS_RETRY),
                                         .is_dead_job = is_dead_letter },
                      flow_exit(row_int4(rows, row, COL_END_IN_FLOWS_EXIT), is_dead_letter));
    }
}

/* Kinds of rows of end_in_flows.sql. */
enum flow_row {
    FLOW_JOB_ENTERED = 1,
    FLOW_JOB_ENDED,
    FLOW_END_COUNTED,
    FLOW_END_COUNTED_MORE, /* the same, and more jobs wait for that end */
};

static void flow_end_row(struct task **tasks, const PGresult *rows, int row) {
    int32_t kind = row_int4(rows, row, COL_END_IN_FLOWS_KIND);

    if (kind == FLOW_JOB_ENTERED)
        flow_job_enters(rows, row);
    else if (kind == FLOW_JOB_ENDED)
        flow_job_ended(row_int8(rows, row, COL_END_IN_FLOWS_ID));
    else
        flow_job_counted(
            CONTAINER_OF(tasks[row_int4(rows, row, COL_END_IN_FLOWS_ORDINAL) - 1], struct flow_end, task),
            rows, row, kind == FLOW_END_COUNTED_MORE);
}

static void on_flow_pause(struct timer *t) {
    flow_end_send(CONTAINER_OF(t, struct flow_end, due));
}

/* A page without a successor is the last one. Another session has locked the other successors then. The next try finds
 * them again, so a page is no reason to forget the tries. */
static void flow_end_next(struct flow_end *e) {
    bool is_done = e->is_counted && !e->has_more, has_page = e->is_counted && e->has_page;

    e->is_counted = false;
    if (!is_done && has_page) {
        e->task.op = &op_end_in_flows_more;
        batch_add(&e->task);
    } else if (is_done || ++e->tries == FLOW_MAX_TRIES) {
        flow_end_free(e);
    } else {
        follow_up_end(&e->follow_up);
        timer_set(&e->due, clock_mono() + (PAUSE_US << e->tries), on_flow_pause);
    }
}

/* The tasks are not in the order of their follow-ups, because a follow-up that another one causes has the number of that
 * one. */
static const struct follow_up *flow_first_of(struct task **tasks, size_t count) {
    const struct follow_up *first = &CONTAINER_OF(tasks[0], struct flow_end, task)->follow_up;

    for (size_t i = 1; i < count; i++) {
        const struct follow_up *f = &CONTAINER_OF(tasks[i], struct flow_end, task)->follow_up;

        if (f->number < first->number)
            first = f;
    }
    return first;
}

/* A row does not tell which of the tasks has caused it. */
static void flow_end_rows(struct task **tasks, size_t count, const PGresult *rows) {
    follow_ups_set_cause(flow_first_of(tasks, count));
    for (int i = 0; i < PQntuples(rows); i++)
        flow_end_row(tasks, rows, i);
    follow_ups_set_cause(NULL);
}

static void flow_end_done(struct task **tasks, size_t count, const PGresult *rows) {
    flow_end_rows(tasks, count, rows);
    for (size_t i = 0; i < count; i++)
        flow_end_next(CONTAINER_OF(tasks[i], struct flow_end, task));
}

/* flows_look() finds the job. */
static void flow_end_fail(struct task *t, const struct op_error *err) {
    (void)err;
    flow_end_free(CONTAINER_OF(t, struct flow_end, task));
}

#define END_OP(id, ...)                                                                      \
    OPERATION(id, .begin = flow_end_begin, .encode = flow_end_encode, .done = flow_end_done, \
              .fail = flow_end_fail, __VA_ARGS__)

END_OP(end_in_flows, .rows_most = ENDS_MOST);
/* The further pages of successors. */
END_OP(end_in_flows_more, .alone = true);

static void complete_done(struct task **tasks, size_t count, const PGresult *rows) {
    flow_end_rows(tasks, count, rows);
    for (size_t i = 0; i < count; i++)
        flow_end_free(CONTAINER_OF(tasks[i], struct flow_end, task));
}

OPERATION(complete_batches, .begin = complete_begin, .encode = complete_encode, .done = complete_done,
          .fail = flow_end_fail);

/* ---- ends that were not counted ---- */

/* A search over pages of jobs. A job that RENAME or LMOVE has moved may have a negative number. */
#define FLOW_SEARCH_FIRST INT64_MIN
struct flow_search {
    struct task task;
    int64_t sent_us; /* clock_mono() */
    int64_t next_us;
    int64_t after; /* the next page begins after this job */
};

#define FLOW_SEARCH(operation) \
    { .task = { .op = &(operation), .rows = 1 }, .after = FLOW_SEARCH_FIRST }

static struct flow_search flow_look = FLOW_SEARCH(op_stuck_flows);
static struct flow_search hold_look = FLOW_SEARCH(op_stuck_holds);
/* Tasks that are sent with the first page of flow_look. */
static struct task flow_batches = { .op = &op_stuck_batches, .rows = 1 };
static struct task flow_expired = { .op = &op_expired_waiting, .rows = 1 };
static struct task flow_old = { .op = &op_close_old_batches, .rows = 1 };

static bool flow_search_is_due(const struct flow_search *s) {
    return clock_mono() >= s->next_us && s->task.state == TASK_IDLE;
}

void flows_look(void) {
    if (!node_is_leader())
        return;
    if (flow_search_is_due(&hold_look))
        batch_add(&hold_look.task);
    if (!flow_search_is_due(&flow_look))
        return;
    if (flow_look.after == FLOW_SEARCH_FIRST) {
        batch_add_idle(&flow_batches);
        batch_add_idle(&flow_old);
    }
    batch_add(&flow_look.task);
}

void flows_expire(void) {
    if (node_is_leader())
        batch_add_idle(&flow_expired);
}

static void flows_look_begin(struct params *p) {
    flow_look.sent_us = clock_mono();
    params_set_time(p, 0, clock_db());
    params_set_int8(p, 1, flow_look.after);
    params_set_int4(p, 2, LOOK_LIMIT);
}

static void holds_look_begin(struct params *p) {
    hold_look.sent_us = clock_mono();
    params_set_int8(p, 0, hold_look.after);
    params_set_int4(p, 1, LOOK_LIMIT);
}

/* clock_mono() at the end of the rest after a search. */
static int64_t flow_rest_end(int64_t sent_us) {
    return clock_rest_end(sent_us, LOOK_TIMES, LOOK_REST_MOST_US);
}

/* The columns are id and has_ended. The last row is the last job of the page. After the last page, the next search begins
 * with the first. */
static void flow_search_done(struct task *t, const PGresult *rows) {
    struct flow_search *s = CONTAINER_OF(t, struct flow_search, task);
    int n = PQntuples(rows);

    for (int i = 0; i < n; i++)
        if (row_bool(rows, i, COL_STUCK_FLOWS_HAS_ENDED))
            flow_job_ended(row_int8(rows, i, COL_STUCK_FLOWS_ID));
    s->after = n > 0 ? row_int8(rows, n - 1, COL_STUCK_FLOWS_ID) : FLOW_SEARCH_FIRST;
    s->next_us = flow_rest_end(s->sent_us);
    if (s->after == FLOW_SEARCH_FIRST && s->next_us < clock_mono() + US_PER_S)
        s->next_us = clock_mono() + US_PER_S;
}

#define LOOK_OP(id, first, end) OPERATION(id, .alone = true, .begin = first, .on_end = end)

LOOK_OP(stuck_flows, flows_look_begin, flow_search_done);
LOOK_OP(stuck_holds, holds_look_begin, flow_search_done);

static void flows_batches_begin(struct params *p) {
    params_set_int4(p, 0, BATCHES_LIMIT);
}

static void flows_batches_done(struct task *t, const PGresult *rows) {
    (void)t;
    for (int i = 0; i < PQntuples(rows); i++)
        flow_batch_closed(row_int8(rows, i, COL_STUCK_BATCHES_ID));
}

LOOK_OP(stuck_batches, flows_batches_begin, flows_batches_done);

static void flows_expired_begin(struct params *p) {
    params_set_time(p, 0, clock_db());
    params_set_int4(p, 1, EXPIRED_LIMIT);
}

static void flows_expired_done(struct task *t, const PGresult *rows) {
    (void)t;
    for (int i = 0; i < PQntuples(rows); i++)
        flow_job_ended(row_int8(rows, i, COL_EXPIRED_WAITING_ID));
}

LOOK_OP(expired_waiting, flows_expired_begin, flows_expired_done);

/* ---- batches that stay open ---- */

static void flows_old_begin(struct params *p) {
    params_set_time(p, 0, clock_db());
    params_set_int4(p, 1, BATCHES_LIMIT);
}

static void flows_old_done(struct task *t, const PGresult *rows) {
    (void)t;
    for (int i = 0; i < PQntuples(rows); i++) {
        flow_batch_closed(row_int8(rows, i, COL_CLOSE_OLD_BATCHES_BATCH_ID));
        if (row_null(rows, i, COL_CLOSE_OLD_BATCHES_ID))
            continue;
        int64_t expires_at = row_time(rows, i, COL_CLOSE_OLD_BATCHES_EXPIRES_AT);

        job_entered(&(struct job_row){ .key = row_full_key(rows, i, COL_CLOSE_OLD_BATCHES_QUEUE_ID),
                                       .wake_at = expires_at,
                                       .expires_at = expires_at,
                                       .retry = row_int4(rows, i, COL_CLOSE_OLD_BATCHES_RETRY) },
                    JOB_ADDED);
    }
}

LOOK_OP(close_old_batches, flows_old_begin, flows_old_done);

/* ---- settled jobs ---- */

static struct flow_search flow_prune = FLOW_SEARCH(op_prune_flows);

void flows_prune(void) {
    if (node_is_leader() && flow_search_is_due(&flow_prune))
        batch_add(&flow_prune.task);
}

static void flows_prune_begin(struct params *p) {
    flow_prune.sent_us = clock_mono();
    params_set_time(p, 0, clock_db() - JOB_KEEP_US);
    params_set_time(p, 1, clock_db() - BATCH_KEEP_US);
    params_set_int8(p, 2, flow_prune.after);
    params_set_int4(p, 3, PRUNE_LIMIT);
    params_set_time(p, 4, clock_db() - BAD_BATCH_KEEP_US);
}

LOOK_OP(prune_flows, flows_prune_begin, flow_search_done);
