/* REPRIORITIZE: changes the priority of queued and delayed jobs. */

#include <stdlib.h>

#include "base/clock.h"
#include "batch/batch.h"
#include "batch/client_txn.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "jobs/expire.h"
#include "jobs/id_list.h"
#include "net/usage.h"
#include "queue/delivery.h"
#include "queue/observer.h"
#include "queue/queue.h"
#include "queue/queue_ready.h"

/* The result for a key. */
struct ranked_job {
    bool found;
    int32_t retry;
    int64_t expires_at;
};

struct reprioritize {
    int16_t rank;
    struct job_key *moved; /* the former keys of the queued jobs that were moved */
    size_t moved_count;
    struct ranked_job jobs[];
};

static struct reprioritize *own_of(const struct req *r) {
    return job_ids(r)->own;
}

static void reply_none(struct req *r) {
    reply_array(r, (size_t)r->argc - 2);
    for (int i = 2; i < r->argc; i++)
        reply_null_bulk(r);
    req_end(r);
}

void cmd_reprioritize(struct req *r) {
    struct reprioritize *own;
    int64_t priority;

    if (!parse_int_strict(r->argv[1], &priority) || priority < 0 || priority > 255) {
        usage_invalid(r, 1, "ERR PRIORITY must be a whole number between 0 and 255");
        return;
    }
    if (!job_ids_or_reply(r, 2, r->argc))
        return;
    if (job_ids(r)->count == 0) {
        reply_none(r);
        return;
    }
    own = req_alloc(r, sizeof *own + job_ids(r)->count * sizeof *own->jobs);
    own->rank = (int16_t)-priority;
    own->moved = req_alloc(r, job_ids(r)->count * sizeof *own->moved);
    job_ids(r)->own = own;
    if (req_in_txn(r))
        r->task.client_txn->ahead = true;
    r->task.op = &op_rerank_jobs;
    batch_add(&r->task);
}

/* ---- statement ---- */

static void rerank_begin(struct params *p) {
    params_set_time(p, 4, clock_db());
}

static void rerank_encode(struct params *p, struct task *t) {
    const struct req *r = REQ_OF_TASK(t);

    job_ids_encode(p, t);
    for (size_t i = 0; i < job_ids(r)->count; i++)
        params_int2(p, 3, own_of(r)->rank);
}

/* ---- result ---- */

static void reply_id(struct req *r, struct job_key key, const struct ranked_job *job) {
    char id[JOBID_LEN];

    key.rank = own_of(r)->rank;
    job_format_id(id, key, job->expires_at, job->retry);
    reply_bulk(r, (struct slice){ id, sizeof id });
}

/* Replies an ID or null for each argument. IDs of unknown jobs have no key. */
static void reply_ids(struct req *r) {
    const struct job_ids *ids = job_ids(r);
    size_t at = 0;

    reply_array(r, (size_t)r->argc - 2);
    for (int i = 2; i < r->argc; i++) {
        bool has_key = at < ids->count && ids->args[at] == i;

        if (has_key && own_of(r)->jobs[at].found)
            reply_id(r, ids->keys[at], &own_of(r)->jobs[at]);
        else
            reply_null_bulk(r);
        at += has_key;
    }
    req_end(r);
}

static void moved_in_queue(struct job_key *from, size_t count, int16_t rank) {
    struct queue *q = queue_find_id(from[0].queue_id);

    if (q != NULL)
        queue_jobs_moved(q, from, count, rank);
    for (size_t i = 0; i < count; i++) {
        struct job_key to = { from[i].queue_id, rank, from[i].id };

        OBSERVE(returned, to);
    }
}

/* The jobs of a queue are moved together, because each call looks at all redelivery keys. */
static void note_moved(struct reprioritize *own) {
    size_t count;

    job_keys_sort_queues(own->moved, own->moved_count);
    for (size_t i = 0; i < own->moved_count; i += count) {
        count = job_keys_of_queue(&own->moved[i], own->moved_count - i);
        moved_in_queue(&own->moved[i], count, own->rank);
    }
}

/* Columns: ordinal, is_moved, is_queued, expires_at, retry, wake_at. If a lost first try moved the job, the other
 * servers get the message now. */
static void rerank_row(struct task *t, const PGresult *rows, int row) {
    struct req *r = REQ_OF_TASK(t);
    size_t at = task_row(t, rows, row);
    struct job_key key = job_ids(r)->keys[at];

    own_of(r)->jobs[at] = (struct ranked_job){ true, row_int4(rows, row, COL_RERANK_JOBS_RETRY),
                                               row_time(rows, row, COL_RERANK_JOBS_EXPIRES_AT) };
    if (!row_bool(rows, row, COL_RERANK_JOBS_IS_MOVED) && !job_ids(r)->unknown)
        return;
    if (!row_null(rows, row, COL_RERANK_JOBS_WAKE_AT))
        expire_wake_at(row_time(rows, row, COL_RERANK_JOBS_WAKE_AT));
    if (row_bool(rows, row, COL_RERANK_JOBS_IS_QUEUED))
        own_of(r)->moved[own_of(r)->moved_count++] = key;
}

static void rerank_end(struct task *t, const PGresult *rows) {
    (void)rows;
    note_moved(own_of(REQ_OF_TASK(t)));
    reply_ids(REQ_OF_TASK(t));
}

/* After a lost result, the client gets the new IDs if it repeats the command. */
OPERATION(rerank_jobs, .names_jobs = true, .begin = rerank_begin, .encode = rerank_encode,
          .on_row = rerank_row, .on_end = rerank_end, .fail = req_fail_task, .again = job_ids_again,
          .answer_lost = req_answer_lost_task);
