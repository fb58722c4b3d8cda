/* Jobs that clients did not receive: ends their leases, or puts back copies of jobs that list commands removed. */
#include "jobs/undelivered.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "batch/batch.h"
#include "batch/commit_marker.h"
#include "batch/contention.h"
#include "batch/operations.h"
#include "jobs/dead_letter.h"
#include "jobs/expire.h"
#include "jobs/groups.h"
#include "jobs/job.h"
#include "jobs/take.h"
#include "queue/job_events.h"
#include "queue/lease.h"
#include "queue/queue.h"
#include "queue/queue_ready.h"

/* Optional columns, NULL for most jobs. */
struct rest {
    int32_t attempts; /* 0: none, also for backoff */
    int32_t backoff;
    int32_t delay;
    int16_t replicate;
    bool until_start;       /* the key is free after the first delivery */
    bool in_flow;           /* the job has a row in pgdisque.flow_job */
    int64_t unique_until;   /* TIME_NEVER: until the job is gone */
    int64_t own_expires_at; /* the end of the job without EXPIRE; TIME_NEVER: EXPIRE has set none */
    struct slice deadqueue; /* ptr NULL: none, also for the next three */
    struct slice unique_key;
    struct slice error;
    struct slice group_key;
    struct slice headers; /* JSON, as are the next two */
    struct slice progress;
    struct slice errors;
};

struct undelivered {
    struct task task;
    struct job job;   /* owns its body */
    struct rest rest; /* owns its slices */
    size_t bytes;
    int locked; /* number of times that putting back ended after lock-patience */
};

/* ---- rows ---- */

static struct slice copy_bytes(struct slice bytes) {
    return (struct slice){ xmemdup(bytes.ptr, bytes.len), bytes.len };
}

static struct slice copy_or_null(const PGresult *rows, int row, int col) {
    return row_null(rows, row, col) ? (struct slice){ NULL, 0 } : copy_bytes(row_bytes(rows, row, col));
}

static struct slice copy_jsonb(const PGresult *rows, int row, int col) {
    struct slice text = row_jsonb_or_null(rows, row, col);

    return text.ptr == NULL ? text : copy_bytes(text);
}

static struct rest read_rest(const PGresult *rows, int row) {
    return (struct rest){
        .attempts = row_int4_or(rows, row, COL_POP_FIRST_ATTEMPTS, 0),
        .backoff = row_int4_or(rows, row, COL_POP_FIRST_BACKOFF, 0),
        .delay = row_int4(rows, row, COL_POP_FIRST_DELAY),
        .replicate = row_int2(rows, row, COL_POP_FIRST_REPLICATE),
        .until_start = !row_null(rows, row, COL_POP_FIRST_UNIQUE_START),
        .in_flow = !row_null(rows, row, COL_POP_FIRST_IN_FLOW),
        .own_expires_at = row_time_or(rows, row, COL_POP_FIRST_OWN_EXPIRES_AT, TIME_NEVER),
        .deadqueue = copy_or_null(rows, row, COL_POP_FIRST_DEADQUEUE),
        .error = copy_or_null(rows, row, COL_POP_FIRST_ERROR),
        .unique_key = copy_or_null(rows, row, COL_POP_FIRST_UNIQUE_KEY),
        .unique_until = row_time_or(rows, row, COL_POP_FIRST_UNIQUE_UNTIL, TIME_NEVER),
        .group_key = copy_or_null(rows, row, COL_POP_FIRST_GROUP_KEY),
        .headers = copy_jsonb(rows, row, COL_POP_FIRST_HEADERS),
        .progress = copy_jsonb(rows, row, COL_POP_FIRST_PROGRESS),
        .errors = copy_jsonb(rows, row, COL_POP_FIRST_ERRORS),
    };
}

void undelivered_count_gone(const struct job *job) {
    job_left(&(struct job_row){ .key = job->key,
                                .queued_since = job->ready_at,
                                .expires_at = job->expires_at,
                                .retry = job->retry,
                                .group = job->group },
             JOB_TAKEN);
}

/* ---- copies ---- */

static size_t undelivered_size_of(const struct undelivered *p) {
    return sizeof *p + p->job.body.len + p->rest.deadqueue.len + p->rest.error.len + p->rest.unique_key.len +
           p->rest.group_key.len + p->rest.headers.len + p->rest.progress.len + p->rest.errors.len;
}

static struct undelivered *copy_of(const struct job *job) {
    struct undelivered *p = xcalloc(1, sizeof *p);

    p->job = *job;
    p->job.body = copy_bytes(job->body);
    p->job.group = (struct slice){ NULL, 0 };
    /* An element that was handed over without a row has no attempts, whatever its queue has. */
    p->rest = job->rows != NULL ? read_rest(job->rows, job->row)
                                : (struct rest){ .replicate = 1, .own_expires_at = TIME_NEVER };
    p->job.rows = NULL;
    p->job.q->users++;
    p->bytes = undelivered_size_of(p);
    memory_change(NULL, MEMORY_UNSENT, 0, p->bytes);
    return p;
}

static void copy_free(struct undelivered *p) {
    p->job.q->users--;
    memory_change(NULL, MEMORY_UNSENT, p->bytes, 0);
    free((char *)p->job.body.ptr);
    free((char *)p->rest.deadqueue.ptr);
    free((char *)p->rest.error.ptr);
    free((char *)p->rest.unique_key.ptr);
    free((char *)p->rest.group_key.ptr);
    free((char *)p->rest.headers.ptr);
    free((char *)p->rest.progress.ptr);
    free((char *)p->rest.errors.ptr);
    free(p);
}

void undelivered_note_unsent(struct req *r, const struct job *job) {
    struct undelivered *p = copy_of(job);

    memory_join(&r->client->share, MEMORY_UNSENT, p->bytes);
    delivery_note_unsent(r, (struct delivery){ .key = job->key, .copy = p });
}

static void delivery_forget(struct client *c, const struct delivery *d) {
    if (d->copy == NULL)
        return;
    memory_leave(&c->share, MEMORY_UNSENT, d->copy->bytes);
    copy_free(d->copy);
}

static void undelivered_list_add(struct undelivered_list *l, struct delivery d) {
    if (l->count == l->cap) {
        l->cap = l->cap == 0 ? 4 : l->cap * 2;
        l->deliveries = xrealloc(l->deliveries, l->cap * sizeof *l->deliveries);
    }
    l->deliveries[l->count++] = d;
}

void undelivered_written(struct client *c) {
    size_t left = 0;

    for (size_t i = 0; i < c->unsent_count; i++) {
        if (c->unsent[i].holder != NULL)
            c->unsent[left++] = c->unsent[i];
        else if (c->to_pass_on != NULL)
            undelivered_list_add(c->to_pass_on, c->unsent[i]);
        else
            delivery_forget(c, &c->unsent[i]);
    }
    c->unsent_count = left;
    c->unsent_placed = 0;
}

/* The copies that were put back are not the client's any more. */
void undelivered_forget(struct client *c) {
    for (size_t i = 0; i < c->unsent_count; i++)
        delivery_forget(c, &c->unsent[i]);
    c->unsent_count = c->unsent_placed = 0;
    memory_leave(&c->share, MEMORY_UNSENT, c->share.kinds[MEMORY_UNSENT]);
}

/* ---- removed jobs ---- */

static void put_back(struct undelivered *p) {
    task_init(&p->task, &op_put_back_jobs);
    p->task.bytes = p->job.body.len;
    batch_add(&p->task);
}

static void encode_rest(struct params *p, const struct rest *rest) {
    params_int4_or_null(p, 11, rest->attempts);
    params_int4_or_null(p, 12, rest->backoff);
    params_bytea_or_null(p, 13, rest->deadqueue);
    params_bytea_or_null(p, 14, rest->error);
    params_bytea_or_null(p, 15, rest->unique_key);
    params_time_or_null(p, 16, rest->unique_key.ptr != NULL ? rest->unique_until : TIME_NEVER);
    params_bytea_or_null(p, 17, rest->group_key);
    params_jsonb_or_null(p, 18, rest->headers);
    params_jsonb_or_null(p, 19, rest->progress);
    params_jsonb_or_null(p, 20, rest->errors);
    params_int4(p, 21, rest->delay);
    params_int2(p, 22, rest->replicate);
    params_time_or_null(p, 23, rest->own_expires_at);
    params_int2(p, 24, rest->until_start && rest->unique_key.ptr != NULL);
    params_int2(p, 25, rest->in_flow);
}

static void put_back_encode(struct params *p, struct task *t) {
    const struct undelivered *undelivered = CONTAINER_OF(t, struct undelivered, task);
    const struct job *job = &undelivered->job;

    /* If the marker cannot be read, the element is put back again. It may then come twice, but is not lost. */
    commit_marker(t);
    params_int8(p, 0, job->key.id);
    params_time(p, 1, clock_db());
    params_time(p, 2, job->expires_at);
    params_time(p, 3, job->expires_at);
    params_int4(p, 4, job->key.queue_id);
    params_int4(p, 5, job->retry);
    params_bytea(p, 6, job->body);
    params_int2(p, 7, job->key.rank);
    params_int4(p, 8, job->deliveries);
    params_int4(p, 9, job->nacks);
    params_int4(p, 10, job->additional_deliveries);
    encode_rest(p, &undelivered->rest);
}

static void put_back_end(struct task *t) {
    struct undelivered *p = CONTAINER_OF(t, struct undelivered, task);

    expire_wake_at(p->job.expires_at);
    if (events_wanted(p->job.q))
        event_of_job(p->job.q, EVENT_ADDED, p->job.key, p->job.expires_at, p->job.retry);
    copy_free(p);
}

static void put_back_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++) {
        struct job_key key = row_full_key(rows, i, COL_PUT_BACK_JOBS_QUEUE_ID);

        job_entered(
            &(struct job_row){ .key = key, .group = row_bytes_or_null(rows, i, COL_PUT_BACK_JOBS_GROUP_KEY) },
            JOB_PUT_BACK);
    }
    for (size_t i = 0; i < count; i++)
        put_back_end(tasks[i]);
}

/* bootstrap.c counts the job. */
static void put_back_answer_lost(struct task *t) {
    const struct undelivered *p = CONTAINER_OF(t, struct undelivered, task);

    queue_reset_scan(p->job.q);
    if (p->rest.group_key.ptr != NULL)
        group_joined(p->job.key, p->rest.group_key);
    put_back_end(t);
}

/* Each try waits for lock-patience. The element exists nowhere else, so it is worth several tries. */
#define PUT_BACK_TRIES 5

/* Returns true if another try may succeed. A job whose unique key another job has taken is put back without it. */
static bool may_put_back(struct undelivered *p, const struct op_error *err) {
    if (contention_is(err->sqlstate))
        return ++p->locked < PUT_BACK_TRIES;
    if (strcmp(err->sqlstate, "23505") != 0 || p->rest.unique_key.ptr == NULL)
        return false;
    free((char *)p->rest.unique_key.ptr);
    p->rest.unique_key.ptr = NULL;
    return true;
}

/* If no try succeeds, the element is lost, as it would be in Redis. */
static void put_back_fail(struct task *t, const struct op_error *err) {
    struct undelivered *p = CONTAINER_OF(t, struct undelivered, task);

    if (may_put_back(p, err)) {
        batch_add(t);
        return;
    }
    log_warning("lists", "an element of queue %d is lost, because it cannot be put back: %s (SQLSTATE %s)",
                (int)p->job.key.queue_id, err->message, err->sqlstate);
    copy_free(p);
}

OPERATION(put_back_jobs, .encode = put_back_encode, .done = put_back_done, .fail = put_back_fail,
          .answer_lost = put_back_answer_lost);

/* ---- leased jobs ---- */

struct release {
    struct task task;
    struct job_key key;
    int64_t until;            /* end of the lease in the row: a later delivery has another */
    void (*ended)(void *arg); /* may be NULL */
    void *arg;
};

static void release(struct job_key key, int64_t until, void (*ended)(void *arg), void *arg) {
    struct release *r = xcalloc(1, sizeof *r);

    r->key = key;
    r->until = until;
    r->ended = ended;
    r->arg = arg;
    task_init(&r->task, &op_release_jobs);
    lease_hold(key.id);
    batch_add(&r->task);
}

void undelivered_release(struct job_key key, int64_t until, bool last, void (*ended)(void *arg), void *arg) {
    lease_add(key, until);
    if (last)
        lease_set_last(key.id);
    release(key, until, ended, arg);
}

static void release_encode(struct params *p, struct task *t) {
    const struct release *r = CONTAINER_OF(t, struct release, task);

    params_key(p, 0, r->key);
    params_time(p, 5, r->until);
}

/* If the statement does not find the lease, the lease goes on, and ends by itself. */
static void undelivered_release_row(struct task *t, const PGresult *rows, int row) {
    struct job_key key = CONTAINER_OF(t, struct release, task)->key;

    lease_remove(key.id);
    if (row_bool(rows, row, COL_RELEASE_JOBS_IS_CANCELLED))
        dead_letter_job(key, NULL, NULL);
    else
        job_entered(&(struct job_row){ .key = key }, JOB_RELEASED);
}

static void undelivered_release_end(struct task *t, const PGresult *rows) {
    const struct release *r = CONTAINER_OF(t, struct release, task);

    lease_unhold(r->key.id);
    if (r->ended != NULL)
        r->ended(r->arg);
    task_free(t, rows);
}

static void release_fail(struct task *t, const struct op_error *err) {
    (void)err;
    undelivered_release_end(t, NULL);
}

OPERATION(release_jobs, .names_jobs = true, .found_by_heavy = true, .begin = take_begin_keys,
          .encode = release_encode, .on_row = undelivered_release_row, .on_end = undelivered_release_end,
          .fail = release_fail);

/* ---- all jobs ---- */

void undelivered_return(const struct job *job, bool removed) {
    if (removed)
        put_back(copy_of(job));
    else
        undelivered_release(job->key, job->ready_at, job->last, NULL, NULL);
}

/* If the lease is over or the job is gone, nothing is to be put back. */
static void return_delivery(struct delivery *d) {
    if (d->copy == NULL) {
        if (d->until == TIME_NEVER || lease_known(d->key.id))
            release(d->key, d->until, NULL, NULL);
    } else {
        put_back(d->copy);
        d->copy = NULL;
    }
}

/* A gateway passes on all replies or none. */
static bool is_unsent(const struct client *c, const struct delivery *d) {
    return d->holder != NULL || d->offset >= c->bytes_out || c->to_pass_on != NULL;
}

void undelivered_return_unsent(struct client *c) {
    for (size_t i = 0; i < c->unsent_count; i++)
        if (is_unsent(c, &c->unsent[i]))
            return_delivery(&c->unsent[i]);
}

/* ---- jobs for gateways ---- */

static void undelivered_list_clear(struct undelivered_list *l) {
    free(l->deliveries);
    *l = (struct undelivered_list){ 0 };
}

void undelivered_list_return(struct undelivered_list *l) {
    for (size_t i = 0; i < l->count; i++)
        return_delivery(&l->deliveries[i]);
    undelivered_list_clear(l);
}

void undelivered_list_forget(struct undelivered_list *l) {
    for (size_t i = 0; i < l->count; i++)
        if (l->deliveries[i].copy != NULL)
            copy_free(l->deliveries[i].copy);
    undelivered_list_clear(l);
}

void undelivered_list_take(struct undelivered_list *to, struct undelivered_list *from, struct client *c) {
    assert(to->count == 0);
    for (size_t i = 0; c != NULL && i < from->count; i++)
        if (from->deliveries[i].copy != NULL)
            memory_leave(&c->share, MEMORY_UNSENT, from->deliveries[i].copy->bytes);
    *to = *from;
    *from = (struct undelivered_list){ 0 };
}

void undelivered_gateway_closed(struct client *c) {
    undelivered_list_return(c->to_pass_on);
    undelivered_return_unsent(c);
    undelivered_forget(c);
    c->to_pass_on = NULL;
}
