/* ADDJOB: check, make the ID, insert in a batch, hand off to who waits. */
#include <limits.h>
#include <string.h>

#include "args.h"
#include "batch.h"
#include "claim.h"
#include "clock.h"
#include "cmd_job.h"
#include "command.h"
#include "heap.h"
#include "job_expiry.h"
#include "job_ids.h"
#include "node.h"
#include "queue.h"
#include "queue_row.h"
#include "stats.h"
#include "waiters.h"

/* About what a row takes besides its body. */
#define ROW_BYTES 120
#define DEFAULT_RETRY 300

#define NOREPL_TIMEOUT "NOREPL Timeout reached before replicating to the requested number of nodes"
#define NOREPL_NODES "NOREPL Not enough reachable nodes for the requested replication level"

/* What the client asked for; seconds. */
struct add_options {
    int64_t replicate;
    int64_t ttl;
    int64_t retry;
    int64_t delay;
    int64_t maxlen;
    bool async;
};

struct add {
    struct req *req;
    struct parked parked;      /* while the queue has no row yet */
    struct heap_item deadline; /* clock_mono() */
    struct queue *q;
    struct add_options opt;
    struct job_key key;
    int64_t expires_at;
    int64_t ready_at;
    int64_t wake_at; /* TIME_NEVER: none */
    struct get *to;  /* inserted for this waiting client, */
    int64_t until;   /* leased until then */
    bool unhanded;   /* under way to the queue, for whoever comes; counted there */
    bool given_up;   /* the client was told so; what was inserted is removed */
};

static struct heap deadlines;

static bool is_delayed(const struct add *a) {
    return a->opt.delay > 0;
}

/* ---- options ---- */

static const struct arg_option options[] = {
    { "REPLICATE", ARG_INT, offsetof(struct add_options, replicate), 1, 65535,
      "ERR REPLICATE must be between 1 and 65535" },
    { "TTL", ARG_INT, offsetof(struct add_options, ttl), 1, INT64_MAX, "ERR TTL must be a number > 0" },
    { "RETRY", ARG_INT, offsetof(struct add_options, retry), 0, INT64_MAX,
      "ERR RETRY time must be a non negative number" },
    { "DELAY", ARG_INT, offsetof(struct add_options, delay), 0, INT64_MAX,
      "ERR DELAY time must be a non negative number" },
    { "MAXLEN", ARG_INT, offsetof(struct add_options, maxlen), 1, INT64_MAX,
      "ERR MAXLEN must be a positive number" },
    { "ASYNC", ARG_FLAG, offsetof(struct add_options, async), 0, 0, NULL },
};

static const struct arg_spec spec = { options, LENGTH(options), NULL, SYNTAX_ERROR, NULL };

static int64_t at_most(int64_t value, int64_t limit) {
    return value < limit ? value : limit;
}

/* A tenth of the TTL, at least one second and at most five minutes. */
static int64_t default_retry(int64_t ttl) {
    int64_t retry = at_most(ttl / 10, DEFAULT_RETRY);

    return retry > 0 ? retry : 1;
}

/* Seconds beyond 68 years mean no more than these. */
static void limit_seconds(struct add_options *o) {
    o->ttl = at_most(o->ttl, INT32_MAX);
    o->delay = at_most(o->delay, INT32_MAX);
    if (o->retry < 0)
        o->retry = default_retry(o->ttl);
    o->retry = at_most(o->retry, INT32_MAX);
}

/* In Disque's order (job.c, addjobCommand). */
static const char *option_conflict(const struct add_options *o) {
    if (o->replicate > 1 && o->retry == 0)
        return "ERR With RETRY set to 0 please explicitly set  REPLICATE to 1 (at-most-once delivery)";
    if (o->delay >= o->ttl)
        return "ERR The specified DELAY is greater than TTL. Job refused since would never be delivered";
    if (o->replicate > 1)
        return NOREPL_NODES;
    if (node_self()->leaving)
        return NOREPL_NODES ", since I'm unable to hold a copy of the message for the following reason: "
                            "I'm leaving the cluster";
    return NULL;
}

static const char *queue_refusal(const struct queue *q, const struct add_options *o) {
    if (o->maxlen > 0 && q->len + q->adding >= o->maxlen)
        return "MAXLEN Queue is already longer than the specified MAXLEN count";
    if (q->pause & PAUSE_IN)
        return "PAUSED Queue paused in input, try later";
    return NULL;
}

/* ---- on the way ---- */

static void enter(struct add *a) {
    int64_t now = clock_db();

    a->key = (struct job_key){ a->q->id, 0, job_new_id(now, node_self()->number) };
    a->expires_at = job_created_us(a->key.id) + a->opt.ttl * US_PER_S;
    a->ready_at = is_delayed(a) ? now + a->opt.delay * US_PER_S : now;
    a->wake_at = is_delayed(a) ? a->ready_at : a->opt.ttl != JOB_DEFAULT_TTL ? a->expires_at : TIME_NEVER;
    a->req->task.op = &op_add_jobs;
    batch_add(&a->req->task);
}

static void on_open(struct parked *p, struct queue *q) {
    (void)q;
    enter(CONTAINER_OF(p, struct add, parked));
}

static void leave(struct add *a) {
    heap_remove(&deadlines, &a->deadline);
    a->q->users--;
    if (!is_delayed(a))
        a->q->adding--;
}

static void on_open_failed(struct parked *p, const struct op_error *err) {
    struct add *a = CONTAINER_OF(p, struct add, parked);

    leave(a);
    req_db_error(a->req, err);
}

static void start(struct req *r, const struct add_options *opt, int64_t timeout_ms, struct queue *q) {
    struct add *a = req_alloc(r, sizeof *a);

    r->data = a;
    r->task.rows = 1;
    r->task.bytes = r->argv[2].len + ROW_BYTES;
    *a = (struct add){ .req = r, .q = q, .opt = *opt, .parked = { .go = on_open, .fail = on_open_failed } };
    list_init(&a->parked.node);
    if (timeout_ms > 0)
        heap_set(&deadlines, &a->deadline, clock_mono() + at_most(timeout_ms, INT32_MAX) * US_PER_MS);
    q->users++;
    if (!is_delayed(a))
        q->adding++;
    if (queue_is_open(q))
        enter(a);
    else
        queue_park(q, &a->parked);
}

void cmd_addjob(struct req *r) {
    struct add_options opt = { .replicate = 1, .ttl = JOB_DEFAULT_TTL, .retry = -1 };
    const char *refusal;
    struct queue *q;
    int64_t timeout_ms;
    int end;

    if (!args_parse_or_reply(r, 4, &spec, &opt, &end) || !args_timeout_or_reply(r, r->argv[3], &timeout_ms))
        return;
    limit_seconds(&opt);
    refusal = option_conflict(&opt);
    if (refusal != NULL) {
        req_error(r, "%s", refusal);
        return;
    }
    q = queue_get(r->argv[1]);
    refusal = queue_refusal(q, &opt);
    if (refusal != NULL)
        req_error(r, "%s", refusal);
    else
        start(r, &opt, timeout_ms, q);
}

/* ---- the statement ---- */

/* The client that has waited longest gets the job by its insert, when nothing else is, or is
 * about to be, ready before it. */
static struct get *find_taker(const struct add *a) {
    struct queue *q = a->q;

    if (is_delayed(a) || a->given_up || list_empty(&q->waiters) || q->inserting > 0 || q->claiming > 0 ||
        queue_is_shut(q) || queue_budget(q) > 0)
        return NULL;
    return get_first_waiting(q);
}

static int64_t lease_end(const struct add *a) {
    return a->opt.retry == 0 ? TIME_NEVER : clock_db() + a->opt.retry * US_PER_S;
}

static void encode_times(struct params *p, const struct add *a) {
    params_time(p, 1, a->to != NULL ? a->until : a->ready_at);
    params_time(p, 2, a->expires_at);
    if (a->wake_at == TIME_NEVER)
        params_null(p, 3, PARAM_TIME);
    else
        params_time(p, 3, a->wake_at);
}

static void give_to(struct add *a, struct get *g) {
    get_claim(g);
    g->pending++;
    a->to = g;
}

/* Decides, once, who gets the job; true when somebody does. The lease begins when it is sent:
 * it may have been left for another flight before. */
static bool hand(struct add *a) {
    struct get *g;

    if (a->to == NULL && !a->unhanded && a->req->task.op == &op_add_jobs && (g = find_taker(a)) != NULL)
        give_to(a, g);
    if (a->to == NULL && !a->unhanded && !is_delayed(a)) {
        a->unhanded = true;
        a->q->inserting++;
    }
    if (a->to != NULL)
        a->until = lease_end(a);
    return a->to != NULL;
}

static void add_encode(struct params *p, struct task *t) {
    struct add *a = REQ_OF_TASK(t)->data;
    bool handed = hand(a);

    params_int8(p, 0, a->key.id);
    encode_times(p, a);
    params_int4(p, 4, a->key.queue_id);
    params_int4(p, 5, (int32_t)a->opt.retry);
    params_int4(p, 6, (int32_t)a->opt.delay);
    params_int2(p, 7, a->key.rank);
    params_int2(p, 8, (int16_t)a->opt.replicate);
    if (handed)
        params_int2(p, 9, (int16_t)node_self()->number);
    else
        params_null(p, 9, PARAM_INT2);
    params_bytea(p, 10, a->req->argv[2]);
}

/* ---- many alike ---- */

static bool add_shape(const struct task *t, struct op_shape *shape) {
    const struct add *a = REQ_OF_TASK(t)->data;

    shape->a = (int64_t)a->key.queue_id << 32 | a->opt.retry;
    shape->b = (int64_t)a->key.rank << 32 | a->opt.replicate;
    return a->wake_at == TIME_NEVER;
}

static void alike_begin(struct params *p, struct task *first) {
    struct add *a = REQ_OF_TASK(first)->data;
    bool handed = hand(a);

    params_set_int4(p, 2, a->key.queue_id);
    params_set_int4(p, 3, (int32_t)a->opt.retry);
    params_set_int2(p, 4, a->key.rank);
    params_set_int2(p, 5, (int16_t)a->opt.replicate);
    params_set_time(p, 6, handed ? a->until : a->ready_at);
    params_set_time(p, 7, job_created_us(0) + JOB_DEFAULT_TTL * US_PER_S);
    if (handed)
        params_set_int2(p, 8, (int16_t)node_self()->number);
    else
        params_set_null(p, 8);
}

/* Those for waiting clients go together, with one end of their leases; and so do the others. */
static bool alike_join(const struct task *first, struct task *t) {
    const struct add *f = REQ_OF_TASK(first)->data;
    struct add *a = REQ_OF_TASK(t)->data;

    if (hand(a) != (f->to != NULL))
        return false;
    a->until = f->until;
    return true;
}

static void alike_encode(struct params *p, struct task *t) {
    struct add *a = REQ_OF_TASK(t)->data;

    params_int8(p, 0, a->key.id);
    params_bytea(p, 1, a->req->argv[2]);
}

/* ---- the end ---- */

/* For a request of the server itself: nobody reads the reply. */
static void remove_job(struct job_key key) {
    struct req *r = req_new(0, NULL, NULL, req_free);

    job_ids_set(r, key);
    r->task.op = &op_ack_jobs;
    batch_add(&r->task);
}

static void hand_over(struct add *a) {
    struct get *g = a->to;
    struct job job = {
        .q = a->q,
        .key = a->key,
        .ready_at = a->until,
        .expires_at = a->expires_at,
        .retry = (int32_t)a->opt.retry,
        .body = a->req->argv[2],
    };

    stats.handoffs++;
    g->pending--;
    if (g->client != NULL) {
        get_deliver(g, &job, 1);
        return;
    }
    claim_release(a->key, a->until);
    get_wait(g);
}

/* No longer under way. */
static void landed(struct add *a) {
    a->q->inserting -= a->unhanded;
    a->unhanded = false;
}

static void committed(struct add *a) {
    stats.jobs_added++;
    /* In an empty queue nothing before this job can expire. */
    if (a->q->total++ == 0 || a->key.id <= a->q->swept_id)
        a->q->swept_id = a->key.id - 1;
    if (a->wake_at != TIME_NEVER)
        expiry_wake_at(a->wake_at);
    if (is_delayed(a))
        return;
    queue_count_in(a->q);
    if (a->to != NULL)
        hand_over(a);
    else
        queue_job_ready(a->q, a->key);
}

static void reply_id(struct add *a) {
    char id[JOBID_LEN + 1];

    job_format_id(id, a->key, a->expires_at, (int32_t)a->opt.retry);
    id[JOBID_LEN] = '\0';
    reply_status(a->req, id);
}

static void finish(struct add *a) {
    if (a->given_up)
        remove_job(a->key);
    else
        reply_id(a);
    req_end(a->req);
}

static void add_done(struct task **tasks, size_t count, const PGresult *rows) {
    (void)rows;
    for (size_t i = 0; i < count; i++) {
        struct add *a = REQ_OF_TASK(tasks[i])->data;

        landed(a);
        leave(a);
        committed(a);
        finish(a);
    }
}

/* The ids of those inserted now come in order. Others were there already, and
 * are counted with all that load.c finds. */
static void add_again_done(struct task **tasks, size_t count, const PGresult *rows) {
    int next = 0;

    for (size_t i = 0; i < count; i++) {
        struct add *a = REQ_OF_TASK(tasks[i])->data;

        landed(a);
        leave(a);
        if (next < PQntuples(rows) && row_int8(rows, next, 0) == a->key.id) {
            next++;
            committed(a);
        }
        finish(a);
    }
}

/* The client that was to get the job waits again, at its old place. */
static void withdraw(struct add *a) {
    struct get *g = a->to;

    landed(a);
    a->to = NULL;
    if (g != NULL && --g->pending == 0)
        get_wait(g);
}

static void add_fail(struct task *t, const struct op_error *err) {
    struct add *a = REQ_OF_TASK(t)->data;

    withdraw(a);
    leave(a);
    req_db_error(a->req, err);
}

/* A job whose insert may have been committed is inserted if it is not there.
 * If it was there for a waiting client, its lease is given back by load.c. */
static bool add_again(struct task *t, bool unknown) {
    withdraw(REQ_OF_TASK(t)->data);
    if (unknown)
        t->op = &op_add_jobs_again;
    return true;
}

static const struct op_alike add_alike = {
    .stmt = SQL_ADD_JOBS_ALIKE,
    .shape = add_shape,
    .begin = alike_begin,
    .join = alike_join,
    .encode = alike_encode,
    .done = add_done,
};

struct op op_add_jobs = {
    .name = "add_jobs",
    .stmt = SQL_ADD_JOBS,
    .lane = LANE_HOT,
    .spreads = true,
    .alike = &add_alike,
    .encode = add_encode,
    .done = add_done,
    .fail = add_fail,
    .again = add_again,
};

struct op op_add_jobs_again = {
    .name = "add_jobs_again",
    .stmt = SQL_ADD_JOBS_AGAIN,
    .lane = LANE_HOT,
    .encode = add_encode,
    .done = add_again_done,
    .fail = add_fail,
    .again = add_again,
};

/* ---- ms-timeout ---- */

/* One that is under way cannot be taken back: it is removed when it lands. */
static void give_up(struct add *a) {
    struct req *r = a->req;

    reply_error(r, NOREPL_TIMEOUT);
    if (r->task.state == TASK_SENT || r->task.op == &op_add_jobs_again) {
        heap_remove(&deadlines, &a->deadline);
        a->given_up = true;
        client_detach(r);
        return;
    }
    batch_cancel(&r->task);
    list_remove(&a->parked.node);
    withdraw(a);
    leave(a);
    req_end(r);
}

void addjob_expire(int64_t mono_us) {
    struct heap_item *first;

    while ((first = heap_first(&deadlines)) != NULL && first->due <= mono_us)
        give_up(CONTAINER_OF(first, struct add, deadline));
}

int64_t addjob_next_deadline(void) {
    struct heap_item *first = heap_first(&deadlines);

    return first == NULL ? INT64_MAX : first->due;
}
