/* DEL, EXPIRE, PERSIST in a client transaction: deletes all queued jobs of some queues, or sets when they expire. */
#include "jobs/bulk_in_txn.h"

#include <stdlib.h>

#include "base/clock.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/bulk.h"
#include "jobs/claim_ahead.h"
#include "jobs/expire.h"

static void bulk_in_txn_leave(struct key_in_txn *k) {
    for (size_t i = 0; i < k->count; i++)
        k->queues[i]->users--;
}

/* ---- preparation ---- */

/* Uses this server's counters. Jobs in all states count, because the statement reads all of them. */
static bool are_too_many(const struct key_in_txn *k) {
    int64_t jobs = 0;

    for (size_t i = 0; i < k->count; i++)
        jobs += k->queues[i]->counters.total;
    return jobs > KEY_IN_TXN_MOST;
}

/* An earlier command of the transaction may be creating the row of its queue. */
static void open_all(struct key_in_txn *k) {
    for (; k->opened < k->count; k->opened++) {
        if (!queue_is_open(k->queues[k->opened])) {
            queue_wait_for_row(k->queues[k->opened], &k->row_waiter);
            return;
        }
        if (!claim_ahead_return(k->queues[k->opened], &k->row_waiter))
            return;
    }
    k->req->task.op = &op_end_in_txn;
    k->req->task.rows = (uint32_t)k->count;
    batch_add(&k->req->task);
}

static void on_bulk_in_txn_open(struct task *t) {
    open_all(REQ_OF_TASK(t)->data);
}

static void end_fail(struct task *t, const struct op_error *err) {
    bulk_in_txn_leave(REQ_OF_TASK(t)->data);
    req_db_error(REQ_OF_TASK(t), err);
}

void key_in_txn(struct req *r, struct key_in_txn *k) {
    k->req = r;
    k->opened = 0;
    row_waiter_init(&k->row_waiter, &r->task, on_bulk_in_txn_open, end_fail);
    r->data = k;
    if (are_too_many(k)) {
        req_error(r,
                  "LIMIT more than %d jobs: too many for a transaction, not for the command outside of one",
                  KEY_IN_TXN_MOST);
        return;
    }
    for (size_t i = 0; i < k->count; i++)
        k->queues[i]->users++;
    open_all(k);
}

/* ---- statement ---- */

static int compare_ids(const void *a, const void *b) {
    const struct queue *x = *(struct queue *const *)a, *y = *(struct queue *const *)b;

    return (x->id > y->id) - (x->id < y->id);
}

static void end_encode(struct params *p, struct task *t) {
    struct key_in_txn *k = REQ_OF_TASK(t)->data;

    qsort(k->queues, k->count, sizeof(struct queue *), compare_ids);
    for (size_t i = 0; i < k->count; i++)
        params_int4(p, 0, k->queues[i]->id);
    params_set_time(p, 1, clock_db());
    params_set_time(p, 2, clock_db() + KEY_FOR_EVER_US);
    params_set_time(p, 3, k->least);
    params_set_time(p, 4, k->most);
    params_set_bool(p, 5, k->removes);
    params_set_time(p, 6, k->before);
    params_set_time(p, 7, k->expires_at);
    params_set_time_or_null(p, 8, k->wake_at);
}

static struct queue *bulk_in_txn_queue(const struct key_in_txn *k, int32_t queue_id) {
    const struct queue key = { .id = queue_id }, *wanted = &key;

    return *(struct queue **)bsearch(&wanted, k->queues, k->count, sizeof(struct queue *), compare_ids);
}

/* Each queue gets its own keys only, because it sorts what it gets. Returns the number of queues with keys. */
static size_t bulk_in_txn_forget(const struct key_in_txn *k, struct job_key *keys, size_t n) {
    size_t queues = 0, count;

    job_keys_sort_queues(keys, n);
    for (size_t i = 0; i < n; i += count, queues++) {
        count = job_keys_of_queue(&keys[i], n - i);
        if (k->removes)
            position_remove_keys(&bulk_in_txn_queue(k, keys[i].queue_id)->scan, &keys[i], count);
    }
    return queues;
}

/* Columns: queue_id, rank, id, then those of bulk_job_deleted(). */
static struct job_key bulk_in_txn_read_job(const struct key_in_txn *k, const PGresult *rows, int row) {
    struct job_key key = row_full_key(rows, row, COL_END_IN_TXN_QUEUE_ID);

    if (k->removes)
        bulk_job_deleted(key, rows, row, COL_END_IN_TXN_READY_AT);
    else if (k->wake_at != TIME_NEVER)
        expire_wake_at(k->wake_at);
    return key;
}

static void end_done(struct task *t, const PGresult *rows) {
    struct key_in_txn *k = REQ_OF_TASK(t)->data;
    size_t n = (size_t)PQntuples(rows), queues_found;
    struct job_key *keys = xmalloc((n + 1) * sizeof *keys);

    for (size_t i = 0; i < n; i++)
        keys[i] = bulk_in_txn_read_job(k, rows, (int)i);
    queues_found = bulk_in_txn_forget(k, keys, n);
    free(keys);
    bulk_in_txn_leave(k);
    req_int(k->req, (int64_t)queues_found);
}

static void end_answer_lost(struct task *t) {
    bulk_in_txn_leave(REQ_OF_TASK(t)->data);
    req_answer_lost(REQ_OF_TASK(t));
}

OPERATION(end_in_txn, .alone = true, .encode = end_encode, .on_end = end_done, .fail = end_fail,
          .answer_lost = end_answer_lost);
