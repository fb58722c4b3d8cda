/* Dead letters: revived by ENQUEUE and REVIVE, deleted by DELJOB and by a late ACKJOB. */
#include "jobs/dead_jobs.h"

#include "base/clock.h"
#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/add_options.h"
#include "jobs/id_list.h"
#include "jobs/job.h"
#include "queue/observer.h"
#include "queue/queue.h"

/* Jobs of one statement. */
#define PAGE 1000

/* Another server may have moved jobs to the dead letters, and its message may not have arrived. */
static bool may_be_dead(const struct job_ids *ids) {
    for (size_t i = 0; i < ids->count; i++) {
        const struct queue *q = queue_find_id(ids->keys[i].queue_id);

        if (q != NULL && q->counters.dead > 0)
            return true;
    }
    return node_has_peers();
}

/* The server's own requests have no command, and their jobs were just added. In a client transaction no statement
 * may follow the commit. */
static void look_among_dead(struct req *r, struct op *op) {
    if (r->cmd == NULL || r->exec != NULL || (size_t)job_ids(r)->hits >= job_ids(r)->count ||
        !may_be_dead(job_ids(r))) {
        job_ids_end(r);
        return;
    }
    r->task.op = op;
    batch_add(&r->task);
}

static void dead_jobs_set_now(struct params *p) {
    params_set_time(p, 3, clock_db());
}

static void dead_jobs_end(struct task *t, const PGresult *rows) {
    (void)rows;
    job_ids_end(REQ_OF_TASK(t));
}

/* ---- ENQUEUE ---- */

/* Columns: ordinal, expires_at. */
static void revive_row(struct task *t, const PGresult *rows, int row) {
    job_ids(REQ_OF_TASK(t))->hits++;
    job_entered(&(struct job_row){ .key = job_ids_key(t, rows, row),
                                   .wake_at = row_time(rows, row, COL_REVIVE_JOBS_EXPIRES_AT) },
                JOB_REVIVED);
}

/* The first try may have revived jobs that the second try does not find. */
static bool revive_again(struct task *t, bool unknown) {
    job_ids(REQ_OF_TASK(t))->unsure |= unknown;
    return true;
}

OPERATION(revive_jobs, .begin = dead_jobs_set_now, .encode = job_ids_encode, .on_row = revive_row,
          .on_end = dead_jobs_end, .fail = req_fail_task, .again = revive_again);

void dead_revive_or_reply(struct req *r) {
    look_among_dead(r, &op_revive_jobs);
}

/* ---- DELJOB, ACKJOB ---- */

static void delete_encode(struct params *p, struct task *t) {
    job_ids_encode(p, t);
    job_ids_encode_tokens(p, 3, t);
}

static void delete_row(struct task *t, const PGresult *rows, int row) {
    struct job_key key = job_ids_key(t, rows, row);
    struct queue *q = queue_find_id(key.queue_id);

    job_ids(REQ_OF_TASK(t))->hits++;
    if (q != NULL)
        queue_count_dead(q, -1);
    else
        OBSERVE(uncounted, key.queue_id);
}

OPERATION(delete_dead, .encode = delete_encode, .on_row = delete_row, .on_end = dead_jobs_end,
          .fail = req_fail_task);

void dead_delete_or_reply(struct req *r) {
    look_among_dead(r, &op_delete_dead);
}

/* ---- all dead letters of a queue ---- */

struct revive {
    struct queue *q;
    struct job_key after;
    int64_t count; /* maximum of jobs that are still to be revived */
    int64_t done;
};

void dead_revive_queue(struct req *r, struct queue *q, int64_t count) {
    struct revive *v = req_alloc(r, sizeof *v);

    *v = (struct revive){ .q = q, .after = { q->id, INT16_MIN, 0 }, .count = count };
    q->users++;
    r->data = v;
    batch_add_row(&r->task, &op_revive_queue);
}

static void revive_queue_encode(struct params *p, struct task *t) {
    const struct revive *v = REQ_OF_TASK(t)->data;

    params_set_int4(p, 0, v->after.queue_id);
    params_set_int2(p, 1, v->after.rank);
    params_set_int8(p, 2, v->after.id);
    params_set_int4(p, 3, (int32_t)at_most(v->count, PAGE));
    params_set_time(p, 4, clock_db());
}

static struct job_key revive_key(const struct revive *v, const PGresult *rows, int row) {
    return row_key(v->q->id, rows, row, COL_REVIVE_QUEUE_RANK);
}

/* Columns: rank, id, expires_at. The first row is the last job that the statement looked at: the next page begins
 * after it. */
static void revive_queue_end(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);
    struct revive *v = r->data;
    int n = PQntuples(rows);

    for (int i = 1; i < n; i++)
        job_entered(&(struct job_row){ .key = revive_key(v, rows, i),
                                       .wake_at = row_time(rows, i, COL_REVIVE_QUEUE_EXPIRES_AT) },
                    JOB_REVIVED);
    if (n > 1) {
        v->done += n - 1;
        v->count -= n - 1;
    }
    if (n > 0 && v->count > 0) {
        v->after = revive_key(v, rows, 0);
        batch_add(&r->task);
        return;
    }
    v->q->users--;
    req_int(r, v->done);
}

static void revive_queue_fail(struct task *t, const struct op_error *err) {
    ((struct revive *)REQ_OF_TASK(t)->data)->q->users--;
    req_fail_task(t, err);
}

OPERATION(revive_queue, .alone = true, .encode = revive_queue_encode, .on_end = revive_queue_end,
          .fail = revive_queue_fail);
