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
#define MAX_TRIES 6
#define PAUSE_US (20 * US_PER_MS)
/* Dependencies that a statement counts. */
#define COUNT_LIMIT 1000
/* Jobs that a search looks at, or deletes. */
#define LOOK_LIMIT 2000
#define PRUNE_LIMIT 10000
#define BATCHES_LIMIT 1000
/* The next search waits for this many times the duration of the last one, and at least a second after the last page. */
#define LOOK_SHARE 20
/* Settled jobs stay for a while: a client may name them as predecessors. Completed batches stay for a day. */
#define JOB_KEEP_US (60 * US_PER_S)
#define BATCH_KEEP_US (86400 * US_PER_S)

struct flow_end {
    struct task task;
    struct follow_up follow_up; /* while its statement is under way */
    struct timer due;           /* the next try */
    int64_t id;
    unsigned tries;
    bool is_counted; /* its end was counted */
    bool has_more;   /* more jobs wait for it */
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

static enum job_exit flow_exit(int32_t outcome) {
    static const enum job_exit exits_by_outcome[] = { JOB_DONE, JOB_DONE, JOB_DEAD, JOB_CANCELLED,
                                                      JOB_EXPIRED };

    return exits_by_outcome[outcome];
}

static void flow_job_counted(struct flow_end *e, const PGresult *rows, int row, bool has_more) {
    e->is_counted = true;
    e->has_more = has_more;
    if (!row_null(rows, row, COL_END_IN_FLOWS_EXIT)) {
        enum job_exit why = flow_exit(row_int4(rows, row, COL_END_IN_FLOWS_EXIT));

        job_never_ran(&(struct job_row){ .key = row_full_key(rows, row, COL_END_IN_FLOWS_QUEUE_ID),
                                         .expires_at = row_time(rows, row, COL_END_IN_FLOWS_EXPIRES_AT),
                                         .retry = row_int4(rows, row, COL_END_IN_FLOWS_RETRY),
                                         .is_dead_job = why == JOB_DEAD },
                      why);
    }
}

static void flow_end_row(struct task **tasks, const PGresult *rows, int row) {
    int32_t kind = row_int4(rows, row, COL_END_IN_FLOWS_KIND);

    if (kind == 1)
        flow_job_enters(rows, row);
    else if (kind == 2)
        flow_job_ended(row_int8(rows, row, COL_END_IN_FLOWS_ID));
    else
        flow_job_counted(
            CONTAINER_OF(tasks[row_int4(rows, row, COL_END_IN_FLOWS_ORDINAL) - 1], struct flow_end, task),
            rows, row, kind == 4);
}

static void on_flow_pause(struct timer *t) {
    flow_end_send(CONTAINER_OF(t, struct flow_end, due));
}

static void flow_end_next(struct flow_end *e) {
    if (e->has_more) {
        e->has_more = e->is_counted = false;
        e->tries = 0;
        batch_add(&e->task);
    } else if (e->is_counted || ++e->tries == MAX_TRIES) {
        flow_end_free(e);
    } else {
        follow_up_end(&e->follow_up);
        timer_set(&e->due, clock_mono() + (PAUSE_US << e->tries), on_flow_pause);
    }
}

static void flow_end_rows(struct task **tasks, const PGresult *rows) {
    follow_ups_set_cause(&CONTAINER_OF(tasks[0], struct flow_end, task)->follow_up);
    for (int i = 0; i < PQntuples(rows); i++)
        flow_end_row(tasks, rows, i);
    follow_ups_set_cause(NULL);
}

static void flow_end_done(struct task **tasks, size_t count, const PGresult *rows) {
    flow_end_rows(tasks, rows);
    for (size_t i = 0; i < count; i++)
        flow_end_next(CONTAINER_OF(tasks[i], struct flow_end, task));
}

/* flows_look() finds the job. */
static void flow_end_fail(struct task *t, const struct op_error *err) {
    (void)err;
    flow_end_free(CONTAINER_OF(t, struct flow_end, task));
}

OPERATION(end_in_flows, .begin = flow_end_begin, .encode = flow_end_encode, .done = flow_end_done,
          .fail = flow_end_fail);

static void complete_done(struct task **tasks, size_t count, const PGresult *rows) {
    flow_end_rows(tasks, rows);
    for (size_t i = 0; i < count; i++)
        flow_end_free(CONTAINER_OF(tasks[i], struct flow_end, task));
}

OPERATION(complete_batches, .begin = complete_begin, .encode = flow_end_encode, .done = complete_done,
          .fail = flow_end_fail);

/* ---- ends that were not counted ---- */

static struct {
    struct task task;
    struct task batches;
    int64_t sent_us; /* clock_mono() */
    int64_t next_us;
    int64_t after; /* the next page begins after this job */
} flow_look = { .task = { .op = &op_stuck_flows, .rows = 1 },
                .batches = { .op = &op_stuck_batches, .rows = 1 } };

void flows_look(void) {
    if (!node_is_leader() || clock_mono() < flow_look.next_us || flow_look.task.state != TASK_IDLE)
        return;
    if (flow_look.after == 0)
        batch_add_idle(&flow_look.batches);
    batch_add(&flow_look.task);
}

static void flows_look_begin(struct params *p) {
    flow_look.sent_us = clock_mono();
    params_set_time(p, 0, clock_db());
    params_set_int8(p, 1, flow_look.after);
    params_set_int4(p, 2, LOOK_LIMIT);
}

/* The last row is the last job of the page. After the last page, the next search begins with the first. */
static void flows_look_done(struct task *t, const PGresult *rows) {
    int n = PQntuples(rows);

    (void)t;
    for (int i = 0; i < n; i++)
        if (row_bool(rows, i, COL_STUCK_FLOWS_HAS_ENDED))
            flow_job_ended(row_int8(rows, i, COL_STUCK_FLOWS_ID));
    flow_look.after = n > 0 ? row_int8(rows, n - 1, COL_STUCK_FLOWS_ID) : 0;
    flow_look.next_us = clock_mono() + (clock_mono() - flow_look.sent_us) * LOOK_SHARE;
    if (flow_look.after == 0 && flow_look.next_us < clock_mono() + US_PER_S)
        flow_look.next_us = clock_mono() + US_PER_S;
}

static void flows_task_failed(struct task *t, const struct op_error *err) {
    (void)t;
    (void)err;
}

OPERATION(stuck_flows, .alone = true, .begin = flows_look_begin, .on_end = flows_look_done,
          .fail = flows_task_failed);

static void flows_batches_begin(struct params *p) {
    params_set_int4(p, 0, BATCHES_LIMIT);
}

static void flows_batches_done(struct task *t, const PGresult *rows) {
    (void)t;
    for (int i = 0; i < PQntuples(rows); i++)
        flow_batch_closed(row_int8(rows, i, COL_STUCK_BATCHES_ID));
}

OPERATION(stuck_batches, .alone = true, .begin = flows_batches_begin, .on_end = flows_batches_done,
          .fail = flows_task_failed);

/* ---- settled jobs ---- */

static struct {
    struct task task;
    int64_t after;
} flow_prune = { .task = { .op = &op_prune_flows, .rows = 1 } };

void flows_prune(void) {
    if (node_is_leader())
        batch_add_idle(&flow_prune.task);
}

static void flows_prune_begin(struct params *p) {
    params_set_time(p, 0, clock_db() - JOB_KEEP_US);
    params_set_time(p, 1, clock_db() - BATCH_KEEP_US);
    params_set_int8(p, 2, flow_prune.after);
    params_set_int4(p, 3, PRUNE_LIMIT);
}

static void flows_prune_done(struct task *t, const PGresult *rows) {
    (void)t;
    flow_prune.after = PQntuples(rows) > 0 ? row_int8(rows, 0, COL_PRUNE_FLOWS_ID) : 0;
}

OPERATION(prune_flows, .alone = true, .begin = flows_prune_begin, .on_end = flows_prune_done,
          .fail = flows_task_failed);
