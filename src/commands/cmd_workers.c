/* WORKERS and RELEASE: list the workers, and take jobs back from them. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/node.h"
#include "base/time_budget.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "jobs/dead_letter.h"
#include "jobs/job.h"
#include "net/args.h"
#include "net/json_reply.h"
#include "net/long_work.h"
#include "queue/delivery.h"
#include "queue/lease.h"
#include "queue/queue.h"
#include "queue/queue_rights.h"

/* The name of the node for jobs that SQL functions took. */
#define SQL_NODE "sql"

/* ---- pages of leased jobs ---- */

/* Jobs that one statement looks at. */
#define LOOKS 2500

/* A search for leased jobs, page by page, in the queues that may have some. They are found in steps, because there may be
 * very many queues. */
struct held_search {
    struct long_work work;
    struct req *req;
    void (*go_on)(struct req *r); /* called when the queues are known */
    uint32_t slot;
    int32_t *queues; /* their IDs, rising */
    size_t queue_count, queue_cap;
    size_t at;
    struct job_key after; /* the next page is behind this key */
};

static void held_search_add_queue(struct held_search *s, int32_t id) {
    if (s->queue_count == s->queue_cap) {
        s->queue_cap = s->queue_cap == 0 ? 64 : s->queue_cap * 2;
        s->queues = xrealloc(s->queues, s->queue_cap * sizeof *s->queues);
        req_hold(s->req, s->queue_cap * sizeof *s->queues);
    }
    s->queues[s->queue_count++] = id;
}

/* A peer may have delivered jobs, and failed before it notified this server. */
static bool may_have_leases(const struct req *r, const struct queue *q) {
    bool known = q->counters.total > queue_len(q) || q->counters.suspect || node_has_peers();

    return known && q->id != 0 && !q->hidden && req_may_queue(r, ACL_READ, q->name);
}

static int compare_queue_ids(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

static bool held_search_is_over(const struct held_search *s) {
    return s->at == s->queue_count || req_is_orphan(s->req);
}

static void held_search_begin_queue(struct held_search *s) {
    if (s->at < s->queue_count)
        s->after = (struct job_key){ s->queues[s->at], INT16_MIN, INT64_MIN };
}

static bool held_search_step(struct long_work *w) {
    struct held_search *s = CONTAINER_OF(w, struct held_search, work);
    struct budget piece = budget_of(LONG_WORK_US);

    for (; s->slot < queue_slots(); s->slot++) {
        const struct queue *q = queue_at(s->slot);

        if (budget_is_spent(&piece))
            return true;
        if (q != NULL && may_have_leases(s->req, q))
            held_search_add_queue(s, q->id);
    }
    if (s->queue_count > 0)
        qsort(s->queues, s->queue_count, sizeof *s->queues, compare_queue_ids);
    held_search_begin_queue(s);
    s->go_on(s->req);
    return false;
}

/* q: the only queue; NULL: all that the user may read. */
static void held_search_start(struct held_search *s, struct req *r, const struct queue *q,
                              void (*go_on)(struct req *r)) {
    s->req = r;
    s->go_on = go_on;
    if (q == NULL) {
        long_work_begin(&s->work, r->task.turn.user, held_search_step);
        return;
    }
    held_search_add_queue(s, q->id);
    held_search_begin_queue(s);
    go_on(r);
}

/* Continues behind the last key of a full page. */
static void held_search_go_behind(struct held_search *s, struct job_key last) {
    s->after = last;
    while (s->at < s->queue_count && s->queues[s->at] < last.queue_id)
        s->at++;
    if (s->at < s->queue_count && s->queues[s->at] > last.queue_id)
        held_search_begin_queue(s);
}

static void held_search_send(struct held_search *s, struct op *op) {
    task_reads(&s->req->task, LOOKS);
    batch_add_row(&s->req->task, op);
}

static void held_search_encode(struct params *p, const struct held_search *s) {
    params_set_int4(p, 0, s->after.queue_id);
    params_set_int2(p, 1, s->after.rank);
    params_set_int8(p, 2, s->after.id);
    params_set_int4(p, 3, s->queues[s->queue_count - 1]);
    params_set_int4(p, 4, LOOKS);
    params_set_time(p, 5, clock_db());
}

static void held_search_free(struct held_search *s) {
    free(s->queues);
}

/* ---- WORKERS ---- */

/* The jobs of a worker in the queue that is being read. */
struct held {
    UT_hash_handle hh; /* by the node and the name */
    int64_t jobs;
    int64_t until;
    uint16_t node;
    size_t len;
    char key[]; /* the node, and then the name; a worker without a name has an empty one */
};

#define KEY_NODE sizeof(uint16_t)

struct listing {
    struct held_search search;
    int32_t queue_id;
    struct held *workers;
    size_t worker_bytes;
    struct buf found; /* replies of the queues before it */
    size_t found_count;
};

static void workers_reply_node(struct req *r, uint16_t number) {
    const struct node *n = node_by_number(number);

    reply_bulk_str(r, "node");
    reply_bulk_str(r, number == 0 ? SQL_NODE : n == NULL ? "" : n->id);
}

static void reply_worker(struct req *r, const struct held *h, struct slice queue) {
    reply_array(r, 10);
    workers_reply_node(r, h->node);
    reply_bulk_str(r, "worker");
    reply_bulk(r, (struct slice){ h->key + KEY_NODE, h->len - KEY_NODE });
    reply_bulk_str(r, "queue");
    reply_bulk(r, queue);
    reply_bulk_str(r, "jobs");
    reply_int(r, h->jobs);
    reply_bulk_str(r, "next-requeue-within");
    if (h->until == TIME_NEVER)
        reply_null_bulk(r);
    else
        reply_int(r, (h->until - clock_db()) / US_PER_MS);
}

static void workers_free(struct listing *l) {
    struct held *h, *next;

    HASH_ITER(hh, l->workers, h, next) {
        HASH_DEL(l->workers, h);
        free(h);
    }
    l->worker_bytes = 0;
}

static void listing_count_memory(struct listing *l) {
    req_hold(l->search.req, l->search.queue_cap * sizeof *l->search.queues + l->worker_bytes + l->found.cap);
}

/* Moves the workers of the queue to l->found. */
static void list_queue(struct listing *l) {
    struct req *r = l->search.req;
    const struct queue *q = queue_find_id(l->queue_id);
    struct buf *out = r->out;

    if (q != NULL && req_may_queue(r, ACL_READ, q->name)) {
        r->out = &l->found;
        for (const struct held *h = l->workers; h != NULL; h = h->hh.next)
            reply_worker(r, h, q->name);
        r->out = out;
        l->found_count += HASH_COUNT(l->workers);
    }
    workers_free(l);
}

static void listing_end(struct listing *l) {
    struct req *r = l->search.req;

    list_queue(l);
    held_search_free(&l->search);
    req_hold(r, 0);
    reply_array(r, l->found_count);
    reply_take(r, &l->found);
    req_end(r);
}

static void list_page(struct req *r) {
    struct listing *l = r->data;

    if (held_search_is_over(&l->search))
        listing_end(l);
    else
        held_search_send(&l->search, &op_list_workers);
}

static void list_workers(struct req *r) {
    struct listing *l = req_alloc(r, sizeof *l);
    const struct queue *q = NULL;

    r->data = l;
    if (r->argc > 2) {
        usage_unexpected(r, 2);
        return;
    }
    if (r->argc == 2) {
        q = queue_find(r->argv[1]);
        if (!queue_rights_allow_or_reply(r, ACL_READ, r->argv[1]))
            return;
        if (q == NULL || q->id == 0) {
            reply_array(r, 0);
            req_end(r);
            return;
        }
    }
    held_search_start(&l->search, r, q, list_page);
}

static void workers_list_encode(struct params *p, struct task *t) {
    held_search_encode(p, &((const struct listing *)REQ_OF_TASK(t)->data)->search);
}

static struct held *held_of(struct listing *l, uint16_t node, struct slice name) {
    size_t len = KEY_NODE + name.len;
    struct held *h = xcalloc(1, sizeof *h + len), *known;

    memcpy(h->key, &node, KEY_NODE);
    memcpy(h->key + KEY_NODE, name.ptr, name.len);
    HASH_FIND(hh, l->workers, h->key, len, known);
    if (known != NULL) {
        free(h);
        return known;
    }
    h->node = node;
    h->len = len;
    h->until = TIME_NEVER;
    HASH_ADD(hh, l->workers, key, len, h);
    l->worker_bytes += sizeof *h + len;
    return h;
}

static void note_worker(struct listing *l, const PGresult *rows, int row) {
    int32_t queue_id = row_int4(rows, row, COL_LIST_WORKERS_QUEUE_ID);
    bool named = !row_null(rows, row, COL_LIST_WORKERS_WORKER);
    int64_t until = row_time(rows, row, COL_LIST_WORKERS_UNTIL);
    struct held *h;

    if (queue_id != l->queue_id)
        list_queue(l);
    l->queue_id = queue_id;
    h = held_of(l, (uint16_t)row_int2(rows, row, COL_LIST_WORKERS_OWNER),
                named ? row_bytes(rows, row, COL_LIST_WORKERS_WORKER) : SLICE(""));
    h->jobs++;
    if (until < h->until)
        h->until = until;
}

static void workers_list_done(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);
    struct listing *l = r->data;
    int n = PQntuples(rows);
    bool more = n > 0 && row_null(rows, n - 1, COL_LIST_WORKERS_UNTIL);

    for (int i = 0; i < n - more; i++)
        note_worker(l, rows, i);
    if (more)
        held_search_go_behind(&l->search, row_full_key(rows, n - 1, COL_LIST_WORKERS_QUEUE_ID));
    else
        l->search.at = l->search.queue_count;
    listing_count_memory(l);
    list_page(r);
}

static void workers_list_fail(struct task *t, const struct op_error *err) {
    struct listing *l = REQ_OF_TASK(t)->data;

    workers_free(l);
    buf_free(&l->found);
    held_search_free(&l->search);
    req_hold(l->search.req, 0);
    req_db_error(l->search.req, err);
}

OPERATION(list_workers, .alone = true, .encode = workers_list_encode, .on_end = workers_list_done,
          .fail = workers_list_fail);

/* ---- WORKERS JOBS ---- */

/* The memory has the leases of the worker, and the rows have the rest. */
struct worker_jobs {
    struct req *r;
    int64_t most;
    size_t count;
    struct worker_lease *jobs;
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

static bool take_held(void *arg, const struct worker_lease *held) {
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
    lease_each_of_worker(r->argv[2], (size_t)w->most, take_held, w);
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

    for (size_t i = 0; i < w->count; i++)
        params_key(p, 0, w->jobs[i].key);
}

static void reply_held(struct req *r, const struct worker_lease *held, const PGresult *rows, int row) {
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
    reply_pair_int(r, "since", since_us / US_PER_MS);
    reply_pair_int(r, "next-requeue-within",
                   (row_time(rows, row, COL_WORKER_JOBS_UNTIL) - clock_db()) / US_PER_MS);
    reply_pair_int(r, "deliveries", row_int4(rows, row, COL_WORKER_JOBS_DELIVERIES));
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
    reply_take(r, &w->found);
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

/* Maximum rows of a statement that changes jobs. */
#define WORKERS_PAGE 1000

struct held_job {
    struct job_key key;
    int64_t until;
};

/* The search begins with jobs whose worker names only this server knows. Then it reads the rows, page by page. */
struct workers_release {
    struct held_search search;
    struct req *r;
    struct slice worker; /* ptr NULL: any worker */
    struct slice node;   /* ptr NULL: any node */
    uint16_t number;     /* the number of node */
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

static void workers_release_free(struct workers_release *l) {
    free(l->found);
    held_search_free(&l->search);
    req_hold(l->r, 0);
}

/* The last jobs of those that are found. */
static size_t release_rows(const struct workers_release *l) {
    return l->count < WORKERS_PAGE ? l->count : WORKERS_PAGE;
}

static void release_page(struct workers_release *l) {
    struct task *t = &l->r->task;

    t->op = &op_release_held;
    t->rows = (uint32_t)release_rows(l);
    t->bytes = t->rows * sizeof *l->found;
    batch_add(t);
}

static void release_next(struct req *r) {
    struct workers_release *l = r->data;

    if (l->count > 0) {
        release_page(l);
    } else if (l->search.at < l->search.queue_count) {
        r->task.bytes = 0;
        held_search_send(&l->search, &op_find_held);
    } else {
        workers_release_free(l);
        req_int(r, l->released);
    }
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
    refusal = release_refusal(l);
    if (refusal != NULL) {
        req_error(r, "%s", refusal);
        return;
    }
    r->data = l;
    look_here(l);
    held_search_start(&l->search, r, NULL, release_next);
}

static void workers_find_encode(struct params *p, struct task *t) {
    const struct workers_release *l = REQ_OF_TASK(t)->data;

    held_search_encode(p, &l->search);
    if (l->worker.ptr == NULL) {
        params_set_null(p, 6);
    } else {
        char *name = slice_dup(l->worker);

        params_set_text(p, 6, name);
        free(name);
    }
    if (l->node.ptr == NULL)
        params_set_null(p, 7);
    else
        params_set_int2(p, 7, (int16_t)l->number);
}

static void workers_find_done(struct task *t, const PGresult *rows) {
    struct workers_release *l = REQ_OF_TASK(t)->data;
    int n = PQntuples(rows);
    bool more = n > 0 && row_null(rows, n - 1, COL_FIND_HELD_UNTIL);

    for (int i = 0; i < n - more; i++)
        workers_add_found(l, row_full_key(rows, i, COL_FIND_HELD_QUEUE_ID),
                          row_time(rows, i, COL_FIND_HELD_UNTIL));
    if (more)
        held_search_go_behind(&l->search, row_full_key(rows, n - 1, COL_FIND_HELD_QUEUE_ID));
    else
        l->search.at = l->search.queue_count;
    release_next(l->r);
}

static void workers_release_fail(struct task *t, const struct op_error *err) {
    struct workers_release *l = REQ_OF_TASK(t)->data;

    workers_release_free(l);
    req_db_error(l->r, err);
}

OPERATION(find_held, .alone = true, .encode = workers_find_encode, .on_end = workers_find_done,
          .fail = workers_release_fail);

static void release_begin(struct params *p) {
    params_set_time(p, 4, clock_db());
}

static void workers_release_encode(struct params *p, struct task *t) {
    const struct workers_release *l = REQ_OF_TASK(t)->data;

    for (size_t i = l->count - release_rows(l); i < l->count; i++) {
        const struct held_job *job = &l->found[i];

        params_key(p, 0, job->key);
        params_time(p, 3, job->until);
    }
}

static void workers_release_row(struct task *t, const PGresult *rows, int row) {
    struct workers_release *l = REQ_OF_TASK(t)->data;
    const struct held_job *job = &l->found[l->count - release_rows(l) + task_row(t, rows, row)];

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
    l->count -= release_rows(l);
    release_next(l->r);
}

OPERATION(release_held, .names_jobs = true, .begin = release_begin, .encode = workers_release_encode,
          .on_row = workers_release_row, .on_end = workers_release_end, .fail = workers_release_fail);
