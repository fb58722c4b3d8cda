/* Dead letters by their IDs: revived by ENQUEUE, deleted by DELJOB and by a late ACKJOB. */
#include "jobs/dead_jobs.h"

#include "base/clock.h"
#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/id_list.h"
#include "jobs/job.h"
#include "queue/observer.h"
#include "queue/queue.h"

/* Another server may have moved jobs to the dead letters, and its message may not have arrived. After a start the dead
 * letters are not counted yet. */
static bool may_be_dead(const struct job_ids *ids) {
    for (size_t i = 0; i < ids->count; i++) {
        const struct queue *q = queue_find_id(ids->keys[i].queue_id);

        if (q != NULL && q->counters.dead > 0)
            return true;
    }
    return node_has_peers() || queue_counters_are_incomplete();
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
    struct job_key key = job_ids_key(t, rows, row);

    job_ids(REQ_OF_TASK(t))->hits++;
    jobs_count_dead(key.queue_id, -1);
    job_entered(&(struct job_row){ .key = key, .wake_at = row_time(rows, row, COL_REVIVE_JOBS_EXPIRES_AT) },
                JOB_REVIVED);
}

OPERATION(revive_jobs, .begin = dead_jobs_set_now, .encode = job_ids_encode_marked, .on_row = revive_row,
          .on_end = dead_jobs_end, .fail = req_fail_task, .again = job_ids_again_unsure,
          .answer_lost = req_answer_lost_task);

void dead_revive_or_reply(struct req *r) {
    look_among_dead(r, &op_revive_jobs);
}

/* ---- DELJOB, ACKJOB ---- */

static void delete_encode(struct params *p, struct task *t) {
    job_ids_encode_marked(p, t);
    job_ids_encode_tokens(p, 3, t);
}

static void delete_row(struct task *t, const PGresult *rows, int row) {
    job_ids(REQ_OF_TASK(t))->hits++;
    jobs_count_dead(job_ids_key(t, rows, row).queue_id, -1);
}

OPERATION(delete_dead, .encode = delete_encode, .on_row = delete_row, .on_end = dead_jobs_end,
          .fail = req_fail_task, .again = job_ids_again_unsure, .answer_lost = req_answer_lost_task);

void dead_delete_or_reply(struct req *r) {
    look_among_dead(r, &op_delete_dead);
}
