/* WORKERS and RELEASE: list the workers, and take jobs back from them. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/node.h"
#include "base/stats.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "jobs/dead_letter.h"
#include "jobs/job.h"
#include "net/args.h"
#include "net/json_reply.h"
#include "queue/delivery.h"
#include "queue/lease.h"
#include "queue/queue.h"
#include "queue/queue_rights.h"

/* The name of the node for jobs that SQL functions took. */
#define SQL_NODE "sql"

/* ---- WORKERS ---- */

struct listing {
    int32_t from; /* first and last queue ID */
    int32_t to;
};

static void list_workers(struct req *r) {
    struct listing *l = req_alloc(r, sizeof *l);

    *l = (struct listing){ INT32_MIN, INT32_MAX };
    if (r->argc > 2) {
        usage_unexpected(r, 2);
        return;
    }
    if (r->argc == 2) {
        const struct queue *q = queue_find(r->argv[1]);

        if (!queue_rights_allow_or_reply(r, ACL_READ, r->argv[1]))
            return;
        if (q == NULL || q->id == 0) {
            reply_array(r, 0);
            req_end(r);
            return;
        }
        l->from = l->to = q->id;
    }
    r->data = l;
    batch_add_row(&r->task, &op_list_workers);
}

static void workers_list_encode(struct params *p, struct task *t) {
    const struct listing *l = REQ_OF_TASK(t)->data;

    params_set_int4(p, 0, l->from);
    params_set_int4(p, 1, l->to);
    params_set_time(p, 2, clock_db());
}

static void workers_reply_node(struct req *r, uint16_t number) {
    const struct node *n = node_by_number(number);

    reply_bulk_str(r, "node");
    reply_bulk_str(r, number == 0 ? SQL_NODE : n == NULL ? "" : n->id);
}

/* Columns: owner, worker, queue, jobs, until. */
static void reply_worker(struct req *r, const PGresult *rows, int row) {
    reply_array(r, 10);
    workers_reply_node(r, (uint16_t)row_int2(rows, row, COL_LIST_WORKERS_OWNER));
    reply_bulk_str(r, "worker");
    reply_bulk(r, row_null(rows, row, COL_LIST_WORKERS_WORKER)
                      ? SLICE("")
                      : row_bytes(rows, row, COL_LIST_WORKERS_WORKER));
    reply_bulk_str(r, "queue");
    reply_bulk(r, row_bytes(rows, row, COL_LIST_WORKERS_QUEUE));
    reply_bulk_str(r, "jobs");
    reply_int(r, row_int8(rows, row, COL_LIST_WORKERS_JOBS));
    reply_bulk_str(r, "next-requeue-within");
    if (row_null(rows, row, COL_LIST_WORKERS_UNTIL))
        reply_null_bulk(r);
    else
        reply_int(r, (row_time(rows, row, COL_LIST_WORKERS_UNTIL) - clock_db()) / US_PER_MS);
}

static bool worker_is_shown(const struct req *r, const PGresult *rows, int row) {
    return req_may_queue(r, ACL_READ, row_bytes(rows, row, COL_LIST_WORKERS_QUEUE));
}

static void workers_list_done(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);

    size_t shown = 0;

    for (int i = 0; i < PQntuples(rows); i++)
        shown += worker_is_shown(r, rows, i);
    reply_array(r, shown);
    for (int i = 0; i < PQntuples(rows); i++)
        if (worker_is_shown(r, rows, i))
            reply_worker(r, rows, i);
    req_end(r);
}

OPERATION(list_workers, .alone = true, .encode = workers_list_encode, .on_end = workers_list_done,
          .fail = req_fail_task);

/* ---- WORKERS JOBS ---- */

/* The memory has the leases of the worker, and the rows have the rest. */
struct worker_jobs {
    struct req *r;
    int64_t most;
    size_t count;
    struct lease_held *jobs;
    struct buf found; /* replies of the jobs */
    size_t found_count;
};

#define JOBS_DEFAULT 100
#define JOBS_MAX 1000

static const struct arg_option jobs_words[] = {
    { "COUNT", ARG_INT, offsetof(struct worker_jobs, most), 1, JOBS_MAX,
      "ERR COUNT must be a number from 1 to 1000" },
};

static const struct arg_spec jobs_spec = { jobs_words, LENGTH(jobs_words), NULL, NULL, NULL };

static bool take_held(void *arg, const struct lease_held *held) {
    struct worker_jobs *w = arg;

    if (!queue_rights_cover_id(w->r, held->key.queue_id))
        return false;
    w->jobs[w->count++] = *held;
    return true;
}

static void list_jobs(struct req *r) {
    struct worker_jobs *w = req_alloc(r, sizeof *w);
    int end;

    w->r = r;
    w->most = JOBS_DEFAULT;
    if (!args_parse_or_reply(r, 3, &jobs_spec, w, &end))
        return;
    w->jobs = req_alloc(r, (size_t)w->most * sizeof *w->jobs);
    lease_each_held(r->argv[2], (size_t)w->most, take_held, w);
    if (w->count == 0) {
        reply_array(r, 0);
        req_end(r);
        return;
    }
    r->data = w;
    r->task.op = &op_worker_jobs;
    r->task.rows = (uint32_t)w->count;
    batch_add(&r->task);
}

static void worker_jobs_begin(struct params *p) {
    params_set_time(p, 3, clock_db());
}

static void worker_jobs_encode(struct params *p, struct task *t) {
    const struct worker_jobs *w = REQ_OF_TASK(t)->data;

    for (size_t i = 0; i < w->count; i++) {
        params_int4(p, 0, w->jobs[i].key.queue_id);
        params_int2(p, 1, w->jobs[i].key.rank);
        params_int8(p, 2, w->jobs[i].key.id);
    }
}

static void workers_pair_int(struct req *r, const char *name, int64_t value) {
    reply_bulk_str(r, name);
    reply_int(r, value);
}

static void reply_held(struct req *r, const struct lease_held *held, const PGresult *rows, int row) {
    const struct queue *q = queue_find_id(held->key.queue_id);
    struct slice progress = row_jsonb_or_null(rows, row, COL_WORKER_JOBS_PROGRESS);
    int64_t since_us = held->since_us != 0 ? held->since_us : row_time(rows, row, COL_WORKER_JOBS_SINCE);
    char id[JOBID_LEN];

    job_format_id(id, held->key, row_time(rows, row, COL_WORKER_JOBS_EXPIRES_AT),
                  row_int4(rows, row, COL_WORKER_JOBS_RETRY));
    reply_array(r, 14);
    reply_bulk_str(r, "id");
    reply_bulk(r, (struct slice){ id, sizeof id });
    reply_bulk_str(r, "queue");
    reply_bulk(r, q != NULL ? q->name : SLICE(""));
    workers_reply_node(r, held->owner != 0 ? held->owner : node_self()->number);
    workers_pair_int(r, "since", since_us / US_PER_MS);
    workers_pair_int(r, "next-requeue-within",
                     (row_time(rows, row, COL_WORKER_JOBS_UNTIL) - clock_db()) / US_PER_MS);
    workers_pair_int(r, "deliveries", row_int4(rows, row, COL_WORKER_JOBS_DELIVERIES));
    reply_bulk_str(r, "progress");
    if (progress.ptr == NULL)
        reply_null_bulk(r);
    else
        reply_json(r, progress);
}

/* The number of jobs is known at the end, so their replies are kept until then. */
static void worker_jobs_row(struct task *t, const PGresult *rows, int row) {
    struct req *r = REQ_OF_TASK(t);
    struct worker_jobs *w = r->data;
    size_t before = buf_len(reply_buf(r));

    reply_held(r, &w->jobs[task_row(t, rows, row)], rows, row);
    reply_move(r, before, &w->found);
    w->found_count++;
}

static void worker_jobs_end(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);
    struct worker_jobs *w = r->data;

    (void)rows;
    reply_array(r, w->found_count);
    buf_append(reply_buf(r), buf_ptr(&w->found), buf_len(&w->found));
    buf_free(&w->found);
    req_end(r);
}

OPERATION(worker_jobs, .begin = worker_jobs_begin, .encode = worker_jobs_encode, .on_row = worker_jobs_row,
          .on_end = worker_jobs_end, .fail = req_fail_task);

/* A queue may have the name JOBS: the worker after it tells which is meant. */
void cmd_workers(struct req *r) {
    if (r->argc > 2 && slice_is(r->argv[1], "jobs"))
        list_jobs(r);
    else
        list_workers(r);
}

/* ---- RELEASE ---- */

/* Maximum rows of a statement. */
#define PAGE 1000

struct held_job {
    struct job_key key;
    int64_t until;
};

/* The search begins with jobs whose worker names only this server knows. Then it reads the rows, page by page. */
struct workers_release {
    struct req *r;
    struct slice worker; /* ptr NULL: any worker */
    struct slice node;   /* ptr NULL: any node */
    uint16_t number;     /* the number of node */
    bool searched;       /* no more rows after this key */
    struct job_key after;
    struct held_job *found;
    size_t count;
    size_t cap;
    int64_t released;
};

static const struct arg_option release_words[] = {
    { "WORKER", ARG_BYTES, offsetof(struct workers_release, worker), 0, INT64_MAX, NULL },
    { "NODE", ARG_BYTES, offsetof(struct workers_release, node), 0, INT64_MAX, NULL },
};

static const struct arg_spec release_spec = {
    release_words, LENGTH(release_words), NULL, NULL, NULL,
};

static void workers_add_found(struct workers_release *l, struct job_key key, int64_t until) {
    if (!queue_rights_cover_id(l->r, key.queue_id))
        return;
    if (l->count == l->cap) {
        l->cap = l->cap == 0 ? 64 : l->cap * 2;
        l->found = xrealloc(l->found, l->cap * sizeof *l->found);
    }
    l->found[l->count++] = (struct held_job){ key, until };
}

static void release_end(struct workers_release *l) {
    struct req *r = l->r;

    free(l->found);
    req_int(r, l->released);
}

static void release_next(struct workers_release *l) {
    struct req *r = l->r;

    if (l->count == 0 && l->searched) {
        release_end(l);
        return;
    }
    r->task.op = l->count > 0 ? &op_release_held : &op_find_held;
    r->task.rows = l->count > 0 ? (uint32_t)l->count : 1;
    r->task.bytes = l->count * sizeof *l->found;
    batch_add(&r->task);
}

static void see_unwritten(void *arg, struct job_key key, int64_t row_until_us, const char *name) {
    (void)name;
    workers_add_found(arg, key, row_until_us);
}

static bool find_node(struct workers_release *l) {
    if (slice_is(l->node, SQL_NODE))
        return true;
    for (uint16_t n = 1; n <= NODE_MAX_NUMBER; n++) {
        const struct node *known = node_by_number(n);

        if (known != NULL && slice_is(l->node, known->id)) {
            l->number = n;
            return true;
        }
    }
    return false;
}

static void look_here(struct workers_release *l) {
    char *name = l->worker.ptr == NULL ? NULL : slice_dup(l->worker);

    if (l->node.ptr == NULL || l->number == node_self()->number)
        lease_each_unwritten(name, see_unwritten, l);
    free(name);
}

/* True if the database can compare the name as a text. */
static bool is_worker_name(struct slice name) {
    return name.len > 0 && name.len <= WORKER_NAME_MAX && memchr(name.ptr, '\0', name.len) == NULL &&
           utf8_is_valid(name);
}

static const char *release_refusal(struct workers_release *l) {
    if (l->worker.ptr == NULL && l->node.ptr == NULL)
        return "ERR RELEASE needs WORKER name, NODE id, or both";
    if (l->worker.ptr != NULL && !is_worker_name(l->worker))
        return "ERR a worker's name has 1 to 128 characters, as WORKERS shows it";
    if (l->node.ptr != NULL && !find_node(l))
        return "ERR unknown node: NODE takes an ID of 40 digits, as HELLO shows it, or sql";
    return NULL;
}

void cmd_release(struct req *r) {
    struct workers_release *l = req_alloc(r, sizeof *l);
    const char *refusal;
    int end;

    if (!args_parse_or_reply(r, 1, &release_spec, l, &end))
        return;
    l->r = r;
    l->after = (struct job_key){ INT32_MIN, INT16_MIN, 0 };
    refusal = release_refusal(l);
    if (refusal != NULL) {
        req_error(r, "%s", refusal);
        return;
    }
    r->data = l;
    look_here(l);
    release_next(l);
}

static void workers_find_encode(struct params *p, struct task *t) {
    const struct workers_release *l = REQ_OF_TASK(t)->data;

    params_set_int4(p, 0, l->after.queue_id);
    params_set_int2(p, 1, l->after.rank);
    params_set_int8(p, 2, l->after.id);
    params_set_int4(p, 3, PAGE);
    params_set_time(p, 4, clock_db());
    if (l->worker.ptr == NULL) {
        params_set_null(p, 5);
    } else {
        char *name = slice_dup(l->worker);

        params_set_text(p, 5, name);
        free(name);
    }
    if (l->node.ptr == NULL)
        params_set_null(p, 6);
    else
        params_set_int2(p, 6, (int16_t)l->number);
}

/* Columns: queue_id, rank, id, until. */
static void workers_find_done(struct task *t, const PGresult *rows) {
    struct workers_release *l = REQ_OF_TASK(t)->data;
    int n = PQntuples(rows);

    for (int i = 0; i < n; i++) {
        l->after = row_full_key(rows, i, COL_FIND_HELD_QUEUE_ID);
        workers_add_found(l, l->after, row_time(rows, i, COL_FIND_HELD_UNTIL));
    }
    l->searched = n < PAGE;
    release_next(l);
}

static void workers_release_fail(struct task *t, const struct op_error *err) {
    struct workers_release *l = REQ_OF_TASK(t)->data;

    free(l->found);
    req_db_error(l->r, err);
}

OPERATION(find_held, .alone = true, .encode = workers_find_encode, .on_end = workers_find_done,
          .fail = workers_release_fail);

static void release_begin(struct params *p) {
    params_set_time(p, 4, clock_db());
}

static void workers_release_encode(struct params *p, struct task *t) {
    const struct workers_release *l = REQ_OF_TASK(t)->data;

    for (size_t i = 0; i < l->count; i++) {
        const struct held_job *job = &l->found[i];

        params_int4(p, 0, job->key.queue_id);
        params_int2(p, 1, job->key.rank);
        params_int8(p, 2, job->key.id);
        params_time(p, 3, job->until);
    }
}

static void workers_release_row(struct task *t, const PGresult *rows, int row) {
    struct workers_release *l = REQ_OF_TASK(t)->data;
    const struct held_job *job = &l->found[task_row(t, rows, row)];

    l->released++;
    if (!row_bool(rows, row, COL_RELEASE_HELD_LAST)) {
        job_requeued(job->key, job->until, false, TIME_NEVER);
        return;
    }
    job_withdrawn(job->key, job->until, false);
    dead_letter_job(job->key, NULL, NULL);
}

static void workers_release_end(struct task *t, const PGresult *rows) {
    struct workers_release *l = REQ_OF_TASK(t)->data;

    (void)rows;
    l->count = 0;
    release_next(l);
}

OPERATION(release_held, .names_jobs = true, .begin = release_begin, .encode = workers_release_encode,
          .on_row = workers_release_row, .on_end = workers_release_end, .fail = workers_release_fail);
