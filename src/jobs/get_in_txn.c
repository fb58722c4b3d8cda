/* GETJOB in a client transaction: takes ready jobs, including those that the transaction added. */
#include "jobs/get_in_txn.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/node.h"
#include "batch/batch.h"
#include "batch/client_txn.h"
#include "batch/operations.h"
#include "config/config.h"
#include "jobs/id_list.h"
#include "jobs/job.h"
#include "jobs/take.h"
#include "jobs/undelivered.h"
#include "queue/pattern_index.h"
#include "queue/queue.h"
#include "queue/waiters.h"

struct in_txn {
    int64_t count;
    unsigned form;
    int64_t sent_us; /* clock_db(): begin of the leases */
    size_t queue_count;
    struct queue *queues[];
};

/* A job of the result. ordinal: the position of its queue, from 1. */
struct found {
    int32_t ordinal;
    struct job job;
};

static struct in_txn *in_txn_of(const struct task *t) {
    return CONTAINER_OF(t, const struct req, task)->data;
}

static struct queue *get_in_txn_find_queue(struct req *r, struct slice name) {
    char *plain;

    if (!glob_is_special(name))
        return queue_get(name);
    plain = req_alloc(r, name.len);
    return queue_get((struct slice){ plain, glob_unescape(name, plain) });
}

void get_in_txn(struct req *r, int first, int64_t count, unsigned form) {
    size_t most = (size_t)(r->argc - first);
    struct in_txn *g = req_alloc(r, sizeof *g + most * sizeof *g->queues);

    g->count = count;
    g->form = form;
    for (int i = first; i < r->argc; i++) {
        if (glob_is_special(r->argv[i]) && glob_is_pattern(r->argv[i])) {
            req_error(r, "ERR GETJOB in a transaction takes names of queues, no patterns");
            return;
        }
        if (get_in_txn_find_queue(r, r->argv[i])->limits.limited) {
            req_error(r, "ERR GETJOB in a transaction takes no jobs from queues with limits");
            return;
        }
    }
    for (size_t i = 0; i < most; i++) {
        g->queues[i] = get_in_txn_find_queue(r, r->argv[first + (int)i]);
        queue_show(g->queues[i]);
        g->queues[i]->users++;
    }
    g->queue_count = most;
    r->data = g;
    r->task.op = &op_claim_in_txn;
    r->task.rows = 1;
    batch_add(&r->task);
}

/* ---- statement ---- */

static bool puts_back(const struct task *t) {
    return t->op == &op_requeue_jobs || t->op == &op_requeue_again;
}

/* A NACK or ENQUEUE of the transaction may put back jobs before that key. Returns a key before all of them. */
static struct job_key before_returned(struct job_key key, const struct task *t) {
    const struct job_ids *ids = job_ids(REQ_OF_TASK(t));

    for (size_t i = 0; i < ids->count; i++) {
        if (ids->keys[i].queue_id == key.queue_id && !job_key_before(key, ids->keys[i])) {
            key = ids->keys[i];
            key.id--;
        }
    }
    return key;
}

/* Jobs that the transaction adds at the consume end are before the scan position. Jobs that it puts back may be,
 * too. */
struct job_key first_in_txn(const struct queue *q, const struct client_txn *b) {
    struct job_key key = queue_first_key(q);

    if (b != NULL && b->ahead)
        return (struct job_key){ q->id, INT16_MIN, 0 };
    for (size_t i = 0; b != NULL && i < b->count; i++)
        if (puts_back(b->tasks[i]))
            key = before_returned(key, b->tasks[i]);
    return key;
}

static void in_txn_encode(struct params *p, struct task *t) {
    struct in_txn *g = in_txn_of(t);
    int64_t most = g->count < config.batch_max ? g->count : config.batch_max;

    for (size_t i = 0; i < g->queue_count; i++) {
        const struct queue *q = g->queues[i];
        struct job_key key = first_in_txn(q, t->client_txn);

        if (most > queue_result_rows(q))
            most = queue_result_rows(q);
        /* A queue that gives no jobs needs an element, too. No queue has the id 0. */
        params_int4(p, 0, queue_is_shut(q) ? 0 : q->id);
        params_int2(p, 1, key.rank);
        params_int8(p, 2, key.id);
    }
    params_set_int4(p, 3, (int32_t)most);
    g->sent_us = clock_db();
    params_set_time(p, 4, g->sent_us);
    params_set_int2(p, 5, (int16_t)node_self()->number);
}

/* ---- result ---- */

static int get_in_txn_compare(const void *a, const void *b) {
    const struct found *x = a, *y = b;

    if (x->ordinal != y->ordinal)
        return x->ordinal < y->ordinal ? -1 : 1;
    return job_key_before(x->job.key, y->job.key) ? -1 : job_key_before(y->job.key, x->job.key);
}

static struct job *take_rows(const struct in_txn *g, const PGresult *rows, size_t count) {
    struct found *found = xmalloc((count + 1) * sizeof *found);
    struct job *jobs = xmalloc((count + 1) * sizeof *jobs);

    for (size_t i = 0; i < count; i++) {
        found[i].ordinal = row_int4(rows, (int)i, COL_CLAIM_IN_ORDER_ORDINAL);
        take_read_leased(&found[i].job, rows, (int)i, COL_CLAIM_IN_ORDER_RANK,
                         g->queues[found[i].ordinal - 1], g->sent_us);
    }
    qsort(found, count, sizeof *found, get_in_txn_compare);
    for (size_t i = 0; i < count; i++) {
        jobs[i] = found[i].job;
        job_claimed(jobs[i].q, jobs[i].key);
    }
    free(found);
    take_count(count);
    return jobs;
}

static void leave_queues(const struct in_txn *g) {
    for (size_t i = 0; i < g->queue_count; i++)
        g->queues[i]->users--;
}

static void get_in_txn_give(struct req *r, const struct job *jobs, size_t count, unsigned form) {
    if (r->client != NULL && r->client->state != CLIENT_DEAD && count > 0) {
        jobs_deliver(r, r->client, jobs, count, form);
        return;
    }
    for (size_t i = 0; i < count; i++)
        undelivered_return(&jobs[i], false);
    reply_null_array(r);
}

static void in_txn_done(struct task **tasks, size_t count, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(tasks[0]);
    struct in_txn *g = r->data;
    size_t found = (size_t)PQntuples(rows);
    struct job *jobs = take_rows(g, rows, found);

    (void)count;
    get_in_txn_give(r, jobs, found, g->form);
    free(jobs);
    leave_queues(g);
    req_end(r);
}

static void get_in_txn_in_txn_fail(struct task *t, const struct op_error *err) {
    leave_queues(in_txn_of(t));
    req_db_error(REQ_OF_TASK(t), err);
}

/* No client got the jobs. bootstrap.c finds their leases and puts the jobs back. */
static void get_in_txn_in_txn_answer_lost(struct task *t) {
    struct req *r = REQ_OF_TASK(t);

    leave_queues(r->data);
    reply_null_array(r);
    req_end(r);
}

struct op op_claim_in_txn = {
    .name = "claim_in_txn",
    .stmt = SQL_CLAIM_IN_ORDER,
    .conn = CONN_WRITE,
    .alone = true,
    .encode = in_txn_encode,
    .done = in_txn_done,
    .fail = get_in_txn_in_txn_fail,
    .answer_lost = get_in_txn_in_txn_answer_lost,
};
