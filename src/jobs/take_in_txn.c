/* Takes in a client transaction: ready jobs and list elements, including those that the transaction added. */
#include "jobs/take_in_txn.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/node.h"
#include "batch/batch.h"
#include "batch/client_txn.h"
#include "batch/operations.h"
#include "config/config.h"
#include "jobs/claim_ahead.h"
#include "jobs/id_list.h"
#include "jobs/job.h"
#include "jobs/undelivered.h"
#include "queue/delivery.h"
#include "queue/list_orientation.h"
#include "queue/pattern_index.h"
#include "queue/queue_ready.h"
#include "queue/queue_rights.h"

struct take_in_txn {
    struct req *req;
    const struct list_take *list; /* NULL: GETJOB */
    unsigned form;                /* of the reply of GETJOB */
    int64_t wanted;
    int64_t sent_us;  /* clock_db(): begin of the leases */
    struct queue *to; /* of a move; NULL: none */
    int64_t to_id;    /* new id of the moved job */
    struct row_waiter row_waiter;
    size_t count;
    struct queue *queues[]; /* NULL: a queue without jobs */
};

static struct take_in_txn *in_txn_of(const struct task *t) {
    return REQ_OF_TASK(t)->data;
}

static struct take_in_txn *in_txn_new(struct req *r, size_t count, int64_t wanted) {
    struct take_in_txn *n = req_alloc(r, sizeof *n + count * sizeof(struct queue *));

    n->req = r;
    n->count = count;
    n->wanted = wanted < config.batch_max ? wanted : config.batch_max;
    r->data = n;
    return n;
}

static void in_txn_use(const struct take_in_txn *n, int64_t users) {
    for (size_t i = 0; i < n->count; i++)
        if (n->queues[i] != NULL)
            n->queues[i]->users += users;
    if (n->to != NULL)
        n->to->users += users;
}

/* The statements of a client transaction do not apply limits. */
static bool has_limited(const struct take_in_txn *n) {
    for (size_t i = 0; i < n->count; i++)
        if (n->queues[i] != NULL && n->queues[i]->limits->is_held_back)
            return true;
    return false;
}

static void in_txn_join(struct take_in_txn *n, struct op *op) {
    n->req->task.op = op;
    n->req->task.rows = (uint32_t)n->count;
    batch_add(&n->req->task);
}

static void in_txn_fail(struct task *t, const struct op_error *err) {
    in_txn_use(in_txn_of(t), -1);
    req_db_error(REQ_OF_TASK(t), err);
}

/* ---- GETJOB ---- */

static struct queue *get_in_txn_find_queue(struct req *r, struct slice name) {
    char *plain;

    if (!glob_is_special(name))
        return queue_get(name);
    plain = req_alloc(r, name.len);
    return queue_get((struct slice){ plain, glob_unescape(name, plain) });
}

/* Puts back the jobs ahead first, because the statement does not find their leased rows. */
static void get_in_txn_settle(struct take_in_txn *n) {
    for (size_t i = 0; i < n->count; i++)
        if (!claim_ahead_return(n->queues[i], &n->row_waiter))
            return;
    in_txn_join(n, &op_claim_in_txn);
}

static void on_get_in_txn_back(struct task *t) {
    get_in_txn_settle(in_txn_of(t));
}

void get_in_txn(struct req *r, int first, int64_t count, unsigned form) {
    struct take_in_txn *n = in_txn_new(r, (size_t)(r->argc - first), count);

    n->form = form;
    for (size_t i = 0; i < n->count; i++) {
        struct slice name = r->argv[first + (int)i];

        if (glob_is_special(name) && glob_is_pattern(name)) {
            req_error(r, "ERR GETJOB in a transaction takes names of queues, no patterns");
            return;
        }
        n->queues[i] = get_in_txn_find_queue(r, name);
        if (!queue_rights_allow_or_reply(r, ACL_READ, n->queues[i]->name))
            return;
    }
    if (has_limited(n)) {
        req_error(r, "ERR GETJOB in a transaction takes no jobs from queues with limits");
        return;
    }
    for (size_t i = 0; i < n->count; i++)
        queue_show(n->queues[i]);
    in_txn_use(n, 1);
    row_waiter_init(&n->row_waiter, &r->task, on_get_in_txn_back, in_txn_fail);
    get_in_txn_settle(n);
}

/* ---- lists ---- */

/* The consume end of the first queue decides which statement runs. */
static void pop_in_txn_settle(struct take_in_txn *n) {
    const struct pop *pop = &n->list->pop;

    if (n->to != NULL && !list_open_or_wait(n->to, list_other_end(pop->to_end), &n->row_waiter))
        return;
    for (size_t i = 0; i < n->count; i++)
        if (n->queues[i] != NULL && !list_open_or_wait(n->queues[i], pop->from, &n->row_waiter))
            return;
    if (n->to == NULL) {
        in_txn_join(n, &op_pop_in_txn);
        return;
    }
    n->req->task.client_txn->ahead |= pop->to_end == n->to->list.consume_end;
    in_txn_join(n,
                pop->from == n->queues[0]->list.consume_end ? &op_move_first_in_txn : &op_move_last_in_txn);
}

static void on_pop_in_txn_known(struct task *t) {
    pop_in_txn_settle(in_txn_of(t));
}

/* A queue without a row has no elements, unless an earlier command of the transaction creates the row. */
static bool find_queues(struct take_in_txn *n) {
    bool some = false;

    for (size_t i = 0; i < n->count; i++) {
        struct queue *q = queue_find(n->list->keys[i]);

        n->queues[i] = q == NULL || (q->id == 0 && !q->work->row.opening) ? NULL : q;
        some |= n->queues[i] != NULL;
    }
    return some;
}

void pop_in_txn(struct list_take *t) {
    struct take_in_txn *n = in_txn_new(t->req, t->key_count, t->count);
    bool some;

    n->list = t;
    row_waiter_init(&n->row_waiter, &t->req->task, on_pop_in_txn_known, in_txn_fail);
    some = find_queues(n);
    if (has_limited(n)) {
        req_error(t->req, "ERR queues with limits give no elements in a transaction");
        return;
    }
    if (!some) {
        t->form->none(t->req);
        req_end(t->req);
        return;
    }
    if (t->to.ptr != NULL)
        n->to = t->pop.to = queue_get(t->to);
    in_txn_use(n, 1);
    pop_in_txn_settle(n);
}

/* ---- the first key ---- */

static bool puts_back(const struct task *t) {
    return t->op == &op_requeue_jobs || t->op == &op_requeue_jobs_again;
}

/* Appends the first key of each succession of keys of a queue. Returns the number of firsts. */
static size_t add_firsts(struct job_key *firsts, size_t n, const struct job_key *keys, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (n == 0 || firsts[n - 1].queue_id != keys[i].queue_id)
            firsts[n++] = keys[i];
        else if (job_key_before(keys[i], firsts[n - 1]))
            firsts[n - 1] = keys[i];
    }
    return n;
}

/* most: the number of all keys. owner: a request that lives as long as ct. */
static void note_firsts(struct client_txn *ct, size_t most, struct req *owner) {
    struct job_key *firsts = xmalloc(most * sizeof *firsts), *kept;
    size_t n = 0;

    for (size_t i = 0; i < ct->count; i++) {
        const struct job_ids *ids = puts_back(ct->tasks[i]) ? job_ids(REQ_OF_TASK(ct->tasks[i])) : NULL;

        if (ids != NULL)
            n = add_firsts(firsts, n, ids->keys, ids->count);
    }
    job_keys_sort_queues(firsts, n);
    n = add_firsts(firsts, 0, firsts, n);
    kept = req_alloc(owner, n * sizeof *kept);
    memcpy(kept, firsts, n * sizeof *kept);
    free(firsts);
    ct->returned = kept;
    ct->returned_count = n;
}

/* Once for all takes of the transaction: it can have 1,000 takes of 1,000 queues, and 20,000 other commands. */
static void note_returned(struct client_txn *ct) {
    struct req *owner = NULL;
    size_t most = 0;

    for (size_t i = 0; i < ct->count; i++) {
        if (puts_back(ct->tasks[i])) {
            owner = REQ_OF_TASK(ct->tasks[i]);
            most += job_ids(owner)->count;
        }
    }
    ct->returned_is_known = true;
    if (most > 0)
        note_firsts(ct, most, owner);
}

/* The key after which the statement must search for ready jobs. Jobs that the transaction adds at the consume end are
 * before the scan position. Jobs that a NACK or ENQUEUE of it puts back may be, too. */
static struct job_key first_in_txn(const struct queue *q, struct client_txn *ct) {
    struct job_key key = queue_first_key(q);
    const struct job_key *returned;

    if (ct == NULL)
        return key;
    if (ct->ahead)
        return (struct job_key){ q->id, INT16_MIN, 0 };
    if (!ct->returned_is_known)
        note_returned(ct);
    returned = job_keys_find_queue(ct->returned, ct->returned_count, q->id);
    if (returned == NULL || job_key_before(key, *returned))
        return key;
    return (struct job_key){ q->id, returned->rank, returned->id - 1 };
}

/* ---- parameters ---- */

/* A queue that gives no jobs needs an element, too. No queue has the id 0. */
static int32_t source_id(const struct queue *q) {
    return q == NULL || queue_is_shut(q) ? 0 : q->id;
}

/* Appends the queues to the first three arrays. Returns the limit of rows. */
static int32_t encode_sources(struct params *p, const struct take_in_txn *n) {
    int64_t most = n->wanted;

    for (size_t i = 0; i < n->count; i++) {
        const struct queue *q = n->queues[i];
        struct job_key first = { 0, 0, 0 };

        if (q != NULL) {
            first = first_in_txn(q, n->req->task.client_txn);
            most = most < queue_result_rows(q) ? most : queue_result_rows(q);
        }
        params_int4(p, 0, source_id(q));
        params_int2(p, 1, first.rank);
        params_int8(p, 2, first.id);
    }
    return (int32_t)most;
}

static void claim_in_txn_encode(struct params *p, struct task *t) {
    struct take_in_txn *n = in_txn_of(t);

    params_set_int4(p, 3, encode_sources(p, n));
    n->sent_us = clock_db();
    params_set_time(p, 4, n->sent_us);
    params_set_int2(p, 5, (int16_t)node_self()->number);
}

static void pop_in_txn_encode(struct params *p, struct task *t) {
    const struct take_in_txn *n = in_txn_of(t);

    params_set_int4(p, 4, encode_sources(p, n));
    for (size_t i = 0; i < n->count; i++)
        params_int2(p, 3, n->queues[i] != NULL && n->list->pop.from != n->queues[i]->list.consume_end);
    params_set_time(p, 5, clock_db());
}

static void move_in_txn_encode(struct params *p, struct task *t) {
    struct take_in_txn *n = in_txn_of(t);
    struct job_key first = first_in_txn(n->queues[0], t->client_txn);

    params_set_int4(p, 0, source_id(n->queues[0]));
    params_set_int2(p, 1, first.rank);
    params_set_int8(p, 2, first.id);
    params_set_int4(p, 3, 1);
    params_set_time(p, 4, clock_db());
    n->to_id = pop_new_id(&n->list->pop);
    params_int4(p, 5, n->to->id);
    params_int8(p, 6, n->to_id);
}

/* ---- results ---- */

static void in_txn_end(struct take_in_txn *n, size_t taken) {
    take_count(taken);
    in_txn_use(n, -1);
    req_end(n->req);
}

/* A job of the result. ordinal: the position of its queue, from 1. */
struct found {
    int32_t ordinal;
    struct job job;
};

static int in_txn_compare(const void *a, const void *b) {
    const struct found *x = a, *y = b;

    if (x->ordinal != y->ordinal)
        return x->ordinal < y->ordinal ? -1 : 1;
    return job_key_before(x->job.key, y->job.key) ? -1 : job_key_before(y->job.key, x->job.key);
}

static struct job *read_leased(const struct take_in_txn *n, const PGresult *rows, size_t count) {
    struct found *found = xmalloc((count + 1) * sizeof *found);
    struct job *jobs = xmalloc((count + 1) * sizeof *jobs);

    for (size_t i = 0; i < count; i++) {
        found[i].ordinal = row_int4(rows, (int)i, COL_CLAIM_IN_TXN_ORDINAL);
        take_read_leased(&found[i].job, rows, (int)i, COL_CLAIM_IN_TXN_RANK, n->queues[found[i].ordinal - 1],
                         n->sent_us);
    }
    qsort(found, count, sizeof *found, in_txn_compare);
    for (size_t i = 0; i < count; i++)
        jobs[i] = found[i].job;
    free(found);
    return jobs;
}

static void claim_in_txn_done(struct task *t, const PGresult *rows) {
    struct take_in_txn *n = in_txn_of(t);
    size_t found = (size_t)PQntuples(rows);
    struct job *jobs = read_leased(n, rows, found);

    for (size_t i = 0; i < found; i++)
        job_claimed(jobs[i].q, jobs[i].key);
    if (found > 0 && !client_has_gone(n->req->client)) {
        jobs_deliver(n->req, n->req->client, jobs, found, n->form);
    } else {
        for (size_t i = 0; i < found; i++)
            undelivered_return(&jobs[i], false);
        reply_null_array(n->req);
    }
    free(jobs);
    in_txn_end(n, found);
}

/* All jobs are of one list. */
static void popped_gone(const struct job *jobs, size_t count) {
    struct job_key *keys = xmalloc((count + 1) * sizeof *keys);

    for (size_t i = 0; i < count; i++) {
        keys[i] = jobs[i].key;
        undelivered_count_gone(&jobs[i]);
    }
    jobs_note_delivered(jobs, count);
    if (count > 0)
        position_remove_keys(&jobs[0].q->scan, keys, count);
    free(keys);
}

static void popped_end(struct take_in_txn *n, const struct job *jobs, size_t count) {
    if (count > 0)
        n->list->form->some(n->req, jobs, count);
    else
        n->list->form->none(n->req);
    in_txn_end(n, count);
}

/* If the client has gone, the jobs are put back, as outside of a transaction. */
static void pop_in_txn_done(struct task *t, const PGresult *rows) {
    struct take_in_txn *n = in_txn_of(t);
    size_t found = (size_t)PQntuples(rows);
    struct job *jobs = xmalloc((found + 1) * sizeof *jobs);

    for (size_t i = 0; i < found; i++)
        jobs[i] =
            take_read_removed(rows, (int)i, n->queues[row_int4(rows, (int)i, COL_POP_IN_TXN_ORDINAL) - 1]);
    if (found > 0)
        take_sort(jobs, found, n->list->pop.from != jobs[0].q->list.consume_end);
    popped_gone(jobs, found);
    for (size_t i = 0; i < found; i++) {
        if (!client_has_gone(n->req->client))
            undelivered_note_unsent(n->req, &jobs[i]);
        else
            undelivered_return(&jobs[i], true);
    }
    popped_end(n, jobs, found);
    free(jobs);
}

/* The job stays where it was moved to, even if the client has gone. */
static void move_in_txn_done(struct task *t, const PGresult *rows) {
    struct take_in_txn *n = in_txn_of(t);
    bool found = PQntuples(rows) > 0;
    struct moved_job m = { .ordinal = 0 };

    if (found) {
        m = take_read_moved(rows, 0, n->queues[0]);
        popped_gone(&m.job, 1);
        take_arrived(&n->list->pop, n->to_id, &m);
    }
    popped_end(n, &m.job, found);
}

/* The committed statement has deleted or moved elements: scan the queues from the beginning. No client got jobs that
 * it leased. bootstrap.c finds their leases and puts the jobs back. */
static void in_txn_answer_lost(struct task *t) {
    struct take_in_txn *n = in_txn_of(t);

    for (size_t i = 0; i < n->count && n->list != NULL; i++)
        if (n->queues[i] != NULL)
            queue_reset_scan(n->queues[i]);
    if (n->to != NULL)
        queue_reset_scan(n->to);
    in_txn_use(n, -1);
    if (n->list != NULL) {
        req_answer_lost(n->req);
        return;
    }
    reply_null_array(n->req);
    req_end(n->req);
}

#define IN_TXN_OP(id, encoder, end)                                                     \
    OPERATION(id, .alone = true, .encode = encoder, .on_end = end, .fail = in_txn_fail, \
              .answer_lost = in_txn_answer_lost)

IN_TXN_OP(claim_in_txn, claim_in_txn_encode, claim_in_txn_done);
IN_TXN_OP(pop_in_txn, pop_in_txn_encode, pop_in_txn_done);
IN_TXN_OP(move_first_in_txn, move_in_txn_encode, move_in_txn_done);
IN_TXN_OP(move_last_in_txn, move_in_txn_encode, move_in_txn_done);
