/* ACKJOB with tokens: skips jobs that were delivered again after the token was issued. */
#include "base/clock.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/dead_jobs.h"
#include "jobs/id_list.h"
#include "jobs/job.h"
#include "queue/queue.h"

static void ack_tokens_ack_begin(struct params *p) {
    params_set_time(p, 4, clock_db());
}

static void ack_encode(struct params *p, struct task *t) {
    job_ids_encode(p, t);
    job_ids_encode_tokens(p, 3, t);
}

/* Columns: ordinal, queued_since, group_key. */
static void ack_tokens_ack_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++) {
        int32_t ordinal = row_int4(rows, i, 0);
        struct job_key key;
        struct req *r = job_ids_find(tasks, count, ordinal, &key);

        if (row_null(rows, i, 1)) {
            job_ids_set_stale(tasks, count, ordinal);
            continue;
        }
        job_ids(r)->hits++;
        job_left(&(struct job_row){ .key = key,
                                    .queued_since = row_time(rows, i, 1),
                                    .id = job_ids_text(r, key),
                                    .group = job_group(rows, i, 2) },
                 JOB_DONE);
    }
    for (size_t i = 0; i < count; i++) {
        job_ids_settle(REQ_OF_TASK(tasks[i]));
        dead_delete_or_reply(REQ_OF_TASK(tasks[i]));
    }
}

struct op op_ack_tokens = {
    .name = "ack_tokens",
    .stmt = SQL_ACK_TOKENS,
    .names_jobs = true,
    .conn = CONN_WRITE,
    .begin = ack_tokens_ack_begin,
    .encode = ack_encode,
    .done = ack_tokens_ack_done,
    .fail = job_ids_fail,
    .again = job_ids_again,
    .shares = true,
    .answer_lost = job_ids_removed,
};
