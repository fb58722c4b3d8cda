/* List commands in a client transaction: take elements, including those that the transaction pushed. */
#include "jobs/pop_in_txn.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/stats.h"
#include "batch/batch.h"
#include "batch/client_txn.h"
#include "batch/operations.h"
#include "config/config.h"
#include "jobs/get_in_txn.h"
#include "jobs/take.h"
#include "jobs/undelivered.h"
#include "queue/job_events.h"
#include "queue/list_orientation.h"
#include "queue/queue.h"

static struct list_take *list_take_of(const struct task *t) {
    return REQ_OF_TASK(t)->data;
}

/* ---- queues ---- */

static void pop_in_txn_each_queue(const struct list_take *t, int64_t users) {
    for (size_t i = 0; i < t->key_count; i++)
        if (t->queues[i] != NULL)
            t->queues[i]->users += users;
    if (t->pop.to != NULL)
        t->pop.to->users += users;
}

/* A queue without a row has no elements, unless an earlier command of the transaction creates the row. */
static bool pop_in_txn_find_queues(struct list_take *t) {
    bool some = false;

    t->queues = req_alloc(t->req, t->key_count * sizeof(struct queue *));
    for (size_t i = 0; i < t->key_count; i++) {
        struct queue *q = queue_find(t->keys[i]);

        if (q == NULL || (q->id == 0 && !q->row.opening))
            continue;
        t->queues[i] = q;
        some = true;
    }
    if (some && t->to.ptr != NULL)
        t->pop.to = queue_get(t->to);
    return some;
}

/* The consume end of the first queue decides which statement runs. */
static void pop_in_txn_join(struct list_take *t) {
    struct task *task = &t->req->task;

    task->op = &op_pop_in_txn;
    if (t->pop.to != NULL) {
        task->op =
            t->pop.from == t->queues[0]->list.consume_end ? &op_move_first_in_txn : &op_move_last_in_txn;
        task->client_txn->ahead |= t->pop.to_end == t->pop.to->list.consume_end;
    }
    task->rows = 1;
    batch_add(task);
}

static void pop_in_txn_settle(struct list_take *t) {
    if (t->pop.to != NULL && !list_is_open(t->pop.to, list_other_end(t->pop.to_end), &t->row_waiter))
        return;
    for (size_t i = 0; i < t->key_count; i++)
        if (t->queues[i] != NULL && !list_is_open(t->queues[i], t->pop.from, &t->row_waiter))
            return;
    pop_in_txn_join(t);
}

static void on_pop_in_txn_known(struct row_waiter *p, struct queue *q) {
    (void)q;
    pop_in_txn_settle(CONTAINER_OF(p, struct list_take, row_waiter));
}

static void on_pop_in_txn_unknown(struct row_waiter *p, const struct op_error *err) {
    struct list_take *t = CONTAINER_OF(p, struct list_take, row_waiter);

    pop_in_txn_each_queue(t, -1);
    req_db_error(t->req, err);
}

/* The statements of a client transaction do not apply limits. GETJOB in a transaction refuses such queues, too. */
static bool pop_in_txn_is_limited(const struct list_take *t) {
    for (size_t i = 0; i < t->key_count; i++) {
        const struct queue *q = queue_find(t->keys[i]);

        if (q != NULL && q->limits.limited)
            return true;
    }
    return false;
}

void pop_in_txn(struct list_take *t) {
    if (pop_in_txn_is_limited(t)) {
        req_error(t->req, "ERR in a transaction nothing is popped from queues with limits");
        return;
    }
    t->req->data = t;
    t->row_waiter.go = on_pop_in_txn_known;
    t->row_waiter.fail = on_pop_in_txn_unknown;
    if (!pop_in_txn_find_queues(t)) {
        t->form->none(t->req);
        req_end(t->req);
        return;
    }
    pop_in_txn_each_queue(t, 1);
    pop_in_txn_settle(t);
}

/* ---- statements ---- */

/* No queue has the id 0. */
static int32_t source_id(const struct queue *q) {
    return q == NULL || queue_is_shut(q) ? 0 : q->id;
}

static void pop_encode(struct params *p, struct task *task) {
    const struct list_take *t = list_take_of(task);
    int64_t most = t->count < config.batch_max ? t->count : config.batch_max;

    for (size_t i = 0; i < t->key_count; i++) {
        const struct queue *q = t->queues[i];
        struct job_key first = { 0, 0, 0 };

        if (q != NULL)
            first = first_in_txn(q, task->client_txn);
        if (q != NULL && most > queue_result_rows(q))
            most = queue_result_rows(q);
        params_int4(p, 0, source_id(q));
        params_int2(p, 1, first.rank);
        params_int8(p, 2, first.id);
        params_int2(p, 3, q != NULL && t->pop.from != q->list.consume_end);
    }
    params_set_int4(p, 4, (int32_t)most);
    params_set_time(p, 5, clock_db());
}

static void move_encode(struct params *p, struct task *task) {
    struct list_take *t = list_take_of(task);
    struct job_key first = first_in_txn(t->queues[0], task->client_txn);

    params_set_int4(p, 0, source_id(t->queues[0]));
    params_set_int2(p, 1, first.rank);
    params_set_int8(p, 2, first.id);
    params_set_int4(p, 3, 1);
    params_set_time(p, 4, clock_db());
    t->to_id = pop_new_id(&t->pop);
    params_int4(p, 5, t->pop.to->id);
    params_int8(p, 6, t->to_id);
}

/* ---- results ---- */

/* All jobs are of one list. */
static void count_gone(const struct job *jobs, size_t count) {
    struct job_key *keys = xmalloc((count + 1) * sizeof *keys);

    for (size_t i = 0; i < count; i++) {
        keys[i] = jobs[i].key;
        undelivered_count_gone(&jobs[i]);
        queue_count_out(jobs[i].q, 1);
    }
    if (count > 0)
        position_remove_keys(&jobs[0].q->scan, keys, count);
    stats.jobs_delivered += count;
    free(keys);
}

static void pop_in_txn_end_with(struct list_take *t, const struct job *jobs, size_t count) {
    if (count > 0)
        t->form->some(t->req, jobs, count);
    else
        t->form->none(t->req);
    pop_in_txn_each_queue(t, -1);
    req_end(t->req);
}

/* If the client has gone, the job is put back, as outside of a transaction. */
static void keep_or_put_back(const struct list_take *t, const struct job *job) {
    struct client *c = t->req->client;

    if (c != NULL && c->state != CLIENT_DEAD)
        undelivered_note_unsent(c, job);
    else
        undelivered_return(job, true);
}

static void pop_in_txn_pop_done(struct task **tasks, size_t count, const PGresult *rows) {
    struct list_take *t = list_take_of(tasks[0]);
    size_t found = (size_t)PQntuples(rows);
    struct job *jobs = xmalloc((found + 1) * sizeof *jobs);

    (void)count;
    for (size_t i = 0; i < found; i++)
        jobs[i] =
            take_read_removed(rows, (int)i, t->queues[row_int4(rows, (int)i, COL_POP_IN_ORDER_ORDINAL) - 1]);
    if (found > 0)
        take_sort(jobs, found, t->pop.from != jobs[0].q->list.consume_end);
    count_gone(jobs, found);
    for (size_t i = 0; i < found; i++)
        keep_or_put_back(t, &jobs[i]);
    take_count(found);
    pop_in_txn_end_with(t, jobs, found);
    free(jobs);
}

/* Columns of move_first.sql. The job stays where it was moved to, even if the client has gone. */
static void pop_in_txn_move_done(struct task **tasks, size_t count, const PGresult *rows) {
    struct list_take *t = list_take_of(tasks[0]);
    bool found = PQntuples(rows) > 0;
    struct moved_job m = { .ordinal = 0 };

    (void)count;
    if (found) {
        m = take_read_moved(rows, 0, t->queues[0]);
        count_gone(&m.job, 1);
        take_arrived(&t->pop, t->to_id, &m);
    }
    take_count(found);
    pop_in_txn_end_with(t, &m.job, found);
}

static void pop_in_txn_in_txn_fail(struct task *task, const struct op_error *err) {
    pop_in_txn_each_queue(list_take_of(task), -1);
    req_db_error(REQ_OF_TASK(task), err);
}

/* The committed statement has taken or moved the elements: scan the queues from the beginning. */
static void pop_in_txn_in_txn_answer_lost(struct task *task) {
    struct list_take *t = list_take_of(task);

    for (size_t i = 0; i < t->key_count; i++)
        if (t->queues[i] != NULL)
            queue_reset_scan(t->queues[i]);
    if (t->pop.to != NULL)
        queue_reset_scan(t->pop.to);
    pop_in_txn_each_queue(t, -1);
    req_answer_lost(t->req);
}

#define IN_TXN_OP(variable, text, statement, encoder, end) \
    struct op variable = { .name = text,                   \
                           .stmt = statement,              \
                           .conn = CONN_WRITE,             \
                           .alone = true,                  \
                           .encode = encoder,              \
                           .done = end,                    \
                           .fail = pop_in_txn_in_txn_fail, \
                           .answer_lost = pop_in_txn_in_txn_answer_lost }

IN_TXN_OP(op_pop_in_txn, "pop_in_txn", SQL_POP_IN_ORDER, pop_encode, pop_in_txn_pop_done);
IN_TXN_OP(op_move_first_in_txn, "move_first_in_txn", SQL_MOVE_FIRST, move_encode, pop_in_txn_move_done);
IN_TXN_OP(op_move_last_in_txn, "move_last_in_txn", SQL_MOVE_LAST, move_encode, pop_in_txn_move_done);
