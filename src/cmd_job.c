/* Commands on jobs by ID: ACKJOB FASTACK DELJOB NACK ENQUEUE DEQUEUE WORKING. */
#include "cmd_job.h"

#include "batch.h"
#include "clock.h"
#include "command.h"
#include "job_ids.h"
#include "lease.h"
#include "node.h"
#include "queue.h"
#include "stats.h"

/* ---- shared ---- */

/* Parses the IDs and joins op's next statement; no known ID at all is no job. */
static void start_ids(struct req *r, struct op *op) {
    if (!job_ids_or_reply(r, 1))
        return;
    if (job_ids(r)->count == 0) {
        req_int(r, 0);
        return;
    }
    job_ids_hold(r);
    r->task.op = op;
    batch_add(&r->task);
}

static void set_now(struct params *p) {
    params_set_time(p, 3, clock_db());
}

static void set_now_and_node(struct params *p) {
    set_now(p);
    params_set_int2(p, 4, (int16_t)node_self()->number);
}

/* ---- ACKJOB ---- */

/* Queued jobs are those without a lease, delay or end of their own ahead. */
static void forget_job(struct job_key key, int64_t queued_since) {
    struct queue *q = queue_find_id(key.queue_id);
    bool leased = lease_remove(key.id);

    if (q == NULL)
        return;
    q->total--;
    if (!leased && queued_since <= clock_db())
        q->len--;
}

static void ack_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++) {
        struct job_key key;
        struct req *r = job_ids_find(tasks, count, row_int4(rows, i, 0), &key);

        job_ids(r)->hits++;
        forget_job(key, row_time(rows, i, 1));
    }
    stats.jobs_acked += (uint64_t)PQntuples(rows);
    job_ids_reply_hits(tasks, count);
}

struct op op_ack_jobs = {
    .name = "ack_jobs",
    .stmt = SQL_ACK_JOBS,
    .lane = LANE_HOT,
    .begin = set_now,
    .encode = job_ids_encode,
    .done = ack_done,
    .fail = job_ids_fail,
    .again = job_ids_again,
};

void cmd_ackjob(struct req *r) {
    start_ids(r, &op_ack_jobs);
}

void cmd_fastack(struct req *r) {
    start_ids(r, &op_ack_jobs);
}

void cmd_deljob(struct req *r) {
    start_ids(r, &op_ack_jobs);
}

/* ---- NACK, ENQUEUE ---- */

static void requeue_begin(struct params *p) {
    params_set_time(p, 4, clock_db());
}

static void requeue_encode(struct params *p, struct task *t) {
    const struct req *r = REQ_OF_TASK(t);

    job_ids_encode(p, t);
    for (size_t i = 0; i < job_ids(r)->count; i++)
        params_int4(p, 3, r->cmd->handler == cmd_nack);
    job_ids(r)->sent_us = clock_db();
}

static void requeued(struct queue *q, struct job_key key) {
    lease_remove(key.id);
    if (q == NULL)
        return;
    queue_count_in(q);
    queue_job_returned(q, key);
}

static void requeue_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++) {
        struct job_key key;
        struct req *r = job_ids_find(tasks, count, row_int4(rows, i, 0), &key);
        struct queue *q = queue_find_id(key.queue_id);

        job_ids(r)->hits++;
        requeued(q, key);
    }
    job_ids_reply_hits(tasks, count);
}

/* What the first try has done is found by its time. The second is of a statement of its own from
 * now on, whatever becomes of it. */
static bool requeue_again(struct task *t, bool unknown) {
    if (unknown) {
        t->op = &op_requeue_again;
        job_ids(REQ_OF_TASK(t))->lost_us = clock_db();
    }
    return true;
}

struct op op_requeue_jobs = {
    .name = "requeue_jobs",
    .stmt = SQL_REQUEUE_JOBS,
    .lane = LANE_HOT,
    .begin = requeue_begin,
    .encode = requeue_encode,
    .done = requeue_done,
    .fail = job_ids_fail,
    .again = requeue_again,
};

static void requeue_again_begin(struct params *p) {
    params_set_time(p, 6, clock_db());
    params_set_int2(p, 7, (int16_t)node_self()->number);
}

static void requeue_again_encode(struct params *p, struct task *t) {
    const struct req *r = REQ_OF_TASK(t);

    job_ids_encode(p, t);
    for (size_t i = 0; i < job_ids(r)->count; i++) {
        params_int4(p, 3, r->cmd->handler == cmd_nack);
        params_time(p, 4, job_ids(r)->sent_us);
        params_time(p, 5, job_ids(r)->lost_us);
    }
}

/* Columns: ordinal, was_queued. What was queued already has been counted when the server connected. */
static void requeue_again_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++) {
        struct job_key key;
        struct req *r = job_ids_find(tasks, count, row_int4(rows, i, 0), &key);
        struct queue *q = queue_find_id(key.queue_id);

        job_ids(r)->hits++;
        requeued(q, key);
        if (q != NULL && row_bool(rows, i, 1))
            q->len--;
    }
    job_ids_reply_hits(tasks, count);
}

struct op op_requeue_again = {
    .name = "requeue_jobs_again",
    .stmt = SQL_REQUEUE_JOBS_AGAIN,
    .lane = LANE_HOT,
    .begin = requeue_again_begin,
    .encode = requeue_again_encode,
    .done = requeue_again_done,
    .fail = job_ids_fail,
    .again = requeue_again,
};

void cmd_nack(struct req *r) {
    start_ids(r, &op_requeue_jobs);
}

void cmd_enqueue(struct req *r) {
    start_ids(r, &op_requeue_jobs);
}

/* ---- DEQUEUE ---- */

static void dequeue_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++) {
        struct job_key key;
        struct req *r = job_ids_find(tasks, count, row_int4(rows, i, 0), &key);
        struct queue *q = queue_find_id(key.queue_id);

        job_ids(r)->hits++;
        lease_add(key, row_time(rows, i, 1));
        if (q != NULL)
            q->len--;
    }
    job_ids_reply_hits(tasks, count);
}

struct op op_dequeue_jobs = {
    .name = "dequeue_jobs",
    .stmt = SQL_DEQUEUE_JOBS,
    .lane = LANE_HOT,
    .begin = set_now_and_node,
    .encode = job_ids_encode,
    .done = dequeue_done,
    .fail = job_ids_fail,
};

void cmd_dequeue(struct req *r) {
    start_ids(r, &op_dequeue_jobs);
}

/* ---- WORKING ---- */

static void working_begin(struct params *p) {
    params_set_time(p, 4, clock_db());
    params_set_int2(p, 5, (int16_t)node_self()->number);
}

static void working_encode(struct params *p, struct task *t) {
    const struct job_ids *ids = job_ids(REQ_OF_TASK(t));

    job_ids_encode(p, t);
    params_time(p, 3, job_created_us(ids->keys[0].id));
}

/* Columns: ordinal, retry, ready_at, too_late, was_queued. */
static void worked(struct req *r, struct job_key key, const PGresult *rows, int row) {
    int32_t retry = row_int4(rows, row, 1);
    struct queue *q = queue_find_id(key.queue_id);

    job_ids(r)->hits++;
    if (row_bool(rows, row, 3)) {
        reply_error(r,
                    "TOOLATE Half of job TTL already elapsed, you are no longer allowed to postpone the next "
                    "delivery.");
        return;
    }
    reply_int(r, retry);
    if (retry == 0)
        return;
    if (q != NULL && row_bool(rows, row, 4) && !lease_known(key.id))
        q->len--;
    lease_add(key, clock_db() + retry * US_PER_S);
}

static void working_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++) {
        struct job_key key;
        struct req *r = job_ids_find(tasks, count, row_int4(rows, i, 0), &key);

        worked(r, key, rows, i);
    }
    for (size_t i = 0; i < count; i++) {
        struct req *r = REQ_OF_TASK(tasks[i]);

        job_ids_unhold(r);
        if (job_ids(r)->hits == 0)
            reply_error(r, "NOJOB Job not known in the context of this node.");
        req_end(r);
    }
}

struct op op_working_jobs = {
    .name = "working_jobs",
    .stmt = SQL_WORKING_JOBS,
    .lane = LANE_HOT,
    .begin = working_begin,
    .encode = working_encode,
    .done = working_done,
    .fail = job_ids_fail,
};

void cmd_working(struct req *r) {
    if (!job_ids_or_reply(r, 1))
        return;
    if (job_ids(r)->count == 0) {
        req_error(r, "NOJOB Job not known in the context of this node.");
        return;
    }
    job_ids_hold(r);
    r->task.op = &op_working_jobs;
    batch_add(&r->task);
}
