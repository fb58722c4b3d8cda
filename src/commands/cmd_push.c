/* LPUSH RPUSH LPUSHX RPUSHX: hands elements to a waiting client, or inserts them as jobs in a batch. */
#include "batch/operations.h"

#include "base/clock.h"
#include "base/stats.h"
#include "batch/batch.h"
#include "batch/client_txn.h"
#include "batch/commit_marker.h"
#include "commands/dispatch.h"
#include "jobs/add.h"
#include "jobs/add_options.h"
#include "jobs/job.h"
#include "jobs/push.h"
#include "jobs/take.h"
#include "queue/job_events.h"
#include "queue/list_orientation.h"
#include "queue/queue.h"
#include "queue/queue_iter.h"
#include "queue/queue_store.h"
#include "queue/settings.h"
#include "queue/waiters.h"

/* About the bytes of a row without the body. */
#define ROW_BYTES 100
/* About the bytes of a large push that are sent in one turn. */
#define PART_BYTES ((size_t)4 * 1024 * 1024)

struct push {
    struct req *req;
    struct row_waiter row_waiter; /* waits until the queue has a row and a consume end */
    struct queue *q;
    enum list_end end;
    struct add_options opt;
    const struct slice *values; /* in the order in which they are pushed */
    size_t count;
    int64_t *ids;  /* an ID for each value; negative if pushed at the consume end */
    bool sent;     /* the statement has been sent; counted in the queue */
    int64_t place; /* index of its last element among all elements that were sent to the queue; 0: none */
    bool at_front; /* pushed at the consume end */
    bool again;    /* the transaction was lost once: the jobs may exist */
    /* LPUSHX or RPUSHX in a client transaction: the statement checks whether the list has elements */
    bool if_any;
};

/* ---- hand-off to waiting clients ---- */

/* Finds a waiting list command that takes all elements. If only some were handed off and the insert of the others
 * failed, the command would be half done. Elements accepted before and not inserted yet go first. */
static struct get *push_find_taker(const struct push *p) {
    struct get *g;

    if (p->req->task.client_txn != NULL || p->q->adds.accepted > 0)
        return NULL;
    g = get_find_taker(p->q);
    return g != NULL && g->kind != NULL && g->count >= (int64_t)p->count &&
                   ((const struct pop *)g->own)->to == NULL
               ? g
               : NULL;
}

/* The element goes to the client without a row. If the client disconnects before the reply is sent, the element
 * is inserted as a job. */
static struct job push_element(const struct push *p, struct slice body) {
    struct job job = {
        .q = p->q,
        .expires_at = clock_db() + p->opt.ttl * US_PER_S,
        .retry = (int32_t)p->opt.retry,
        .body = body,
    };

    if (p->q->id != 0)
        job.key = (struct job_key){ p->q->id, 0, pop_front_id() };
    return job;
}

/* As in Redis, all elements are in the list before the first one is popped. */
static struct slice push_take_value(struct push *p, enum list_end from) {
    p->count--;
    return from == p->end ? p->values[p->count] : *p->values++;
}

static void tell_added(const struct push *p, struct job_key key, int64_t expires_at) {
    if (events_wanted(p->q))
        event_of_job(p->q, EVENT_ADDED, key, expires_at, (int32_t)p->opt.retry);
}

static void hand_to(struct push *p, struct get *g) {
    size_t count = p->count;
    enum list_end from = ((const struct pop *)g->own)->from;
    struct job *jobs = req_alloc(p->req, count * sizeof *jobs);

    for (size_t i = 0; i < count; i++)
        jobs[i] = push_element(p, push_take_value(p, from));
    stats.jobs_added += count;
    stats.handoffs += count;
    queue_count_in(p->q, (int64_t)count);
    for (size_t i = 0; i < count; i++)
        tell_added(p, jobs[i].key, jobs[i].expires_at);
    get_claim(g);
    get_deliver(g, jobs, count);
    for (size_t i = 0; i < count; i++)
        events_of_taken(p->q, jobs[i].key, jobs[i].expires_at, jobs[i].retry);
}

/* ---- insert ---- */

static struct job_key key_of(const struct push *p, size_t i) {
    return (struct job_key){ p->q->id, 0, p->ids[i] };
}

/* Jobs with the default TTL expire in the order of their IDs. Jobs with LIST_TTL never expire. Neither needs a
 * wake_at. */
static bool has_own_end(const struct push *p) {
    return p->opt.ttl != LIST_TTL && (p->at_front || p->opt.ttl != JOB_DEFAULT_TTL);
}

static struct job_times times_of(const struct push *p, size_t i) {
    int64_t expires_at = job_created_us(p->ids[i]) + p->opt.ttl * US_PER_S;

    return (struct job_times){ clock_db(), expires_at, has_own_end(p) ? expires_at : TIME_NEVER };
}

static void make_ids(struct push *p) {
    for (size_t i = 0; i < p->count; i++)
        p->ids[i] = p->at_front ? pop_front_id() : -pop_front_id();
}

static struct op *push_op_of(const struct push *p) {
    if (p->if_any)
        return &op_push_if_any;
    return p->req->large && p->req->task.client_txn == NULL ? &op_push_large : &op_push;
}

static void push_enter(struct push *p) {
    struct task *t = &p->req->task;

    p->at_front = p->end == p->q->list.consume_end;
    make_ids(p);
    t->op = push_op_of(p);
    if (t->client_txn != NULL)
        t->client_txn->ahead |= p->at_front;
    batch_add(t);
}

static void push_go_on(struct push *p) {
    if (list_is_open(p->q, list_other_end(p->end), &p->row_waiter))
        push_enter(p);
}

static void on_known_queue(struct row_waiter *row_waiter, struct queue *q) {
    (void)q;
    push_go_on(CONTAINER_OF(row_waiter, struct push, row_waiter));
}

static void landed(struct push *p) {
    if (p->sent)
        p->q->adds.sent -= (int64_t)p->count;
    if (p->place > 0)
        p->q->adds.pushes_ended += (int64_t)p->count;
    p->sent = false;
    p->place = 0;
}

static void push_left(struct push *p) {
    p->q->users--;
    p->q->adds.accepted -= (int64_t)p->count;
}

static void on_unknown_queue(struct row_waiter *row_waiter, const struct op_error *err) {
    struct push *p = CONTAINER_OF(row_waiter, struct push, row_waiter);

    push_left(p);
    req_db_error(p->req, err);
}

static void push_start(struct push *p) {
    struct req *r = p->req;

    p->row_waiter.go = on_known_queue;
    p->row_waiter.fail = on_unknown_queue;
    list_init(&p->row_waiter.node);
    p->ids = req_alloc(r, p->count * sizeof *p->ids);
    r->task.rows = (uint32_t)p->count;
    for (size_t i = 0; i < p->count; i++)
        r->task.bytes += p->values[i].len + p->opt.deadqueue.len + ROW_BYTES;
    for (size_t i = 0; i < p->count; i++)
        queue_note_body(p->q, p->values[i].len);
    p->q->users++;
    p->q->adds.accepted += (int64_t)p->count;
    push_go_on(p);
}

/* ---- statement ---- */

static bool push_is_apart(const struct push *p) {
    return p->req->task.op == &op_push_large;
}

static void take_place(struct push *p) {
    if (p->sent)
        return;
    p->sent = true;
    p->q->adds.sent += (int64_t)p->count;
    if (!push_is_apart(p))
        p->place = p->q->adds.pushes_sent += (int64_t)p->count;
}

/* Gives the pushes of a transaction their places in the order of the requests, as their replies are. */
static void push_alike_decide(struct task *t) {
    take_place(REQ_OF_TASK(t)->data);
}

/* In a client transaction the IDs are made here, in the order of the commands. The consume ends of queues become
 * known in any order. */
static void push_note_sent(struct push *p, struct task *t) {
    if (t->client_txn != NULL)
        make_ids(p);
    take_place(p);
    commit_marker(t);
}

static void encode_element(struct params *params, const struct push *p, size_t i) {
    struct job_times at = times_of(p, i);

    params_int8(params, 0, p->ids[i]);
    params_time(params, 1, at.ready_at);
    params_time(params, 2, at.expires_at);
    if (at.wake_at == TIME_NEVER)
        params_null(params, 3, PARAM_TIME);
    else
        params_time(params, 3, at.wake_at);
    params_int4(params, 4, p->q->id);
    params_int4(params, 5, (int32_t)p->opt.retry);
    add_encode_attempts(params, 6, &p->opt);
    params_bytea(params, 9, p->values[i]);
}

static void push_encode(struct params *params, struct task *t) {
    struct push *p = REQ_OF_TASK(t)->data;

    push_note_sent(p, t);
    for (size_t i = 0; i < p->count; i++)
        encode_element(params, p, i);
}

static size_t push_encode_from(struct params *params, struct task *t, size_t from) {
    struct push *p = REQ_OF_TASK(t)->data;
    size_t bytes = 0, i = from;

    if (from == 0)
        push_note_sent(p, t);
    for (; i < p->count && bytes < PART_BYTES; i++) {
        encode_element(params, p, i);
        bytes += p->values[i].len + ROW_BYTES;
    }
    return i;
}

static bool push_shape(const struct task *t, struct op_shape *shape) {
    const struct push *p = REQ_OF_TASK(t)->data;

    shape->a = (int64_t)p->q->id << 32 | p->opt.retry;
    shape->b = p->opt.ttl;
    return !p->again && !p->at_front && !has_own_end(p) && !addjob_has_attempts(&p->opt);
}

static void push_alike_begin(struct params *params, struct task *first) {
    const struct push *p = REQ_OF_TASK(first)->data;

    params_set_int4(params, 2, p->q->id);
    params_set_int4(params, 3, (int32_t)p->opt.retry);
    params_set_int2(params, 4, 0);
    params_set_int2(params, 5, 1);
    params_set_time(params, 6, clock_db());
    params_set_time(params, 7, job_created_us(0) + p->opt.ttl * US_PER_S);
    params_set_null(params, 8);
}

static void push_alike_encode(struct params *params, struct task *t) {
    struct push *p = REQ_OF_TASK(t)->data;

    push_note_sent(p, t);
    for (size_t i = 0; i < p->count; i++) {
        params_int8(params, 0, p->ids[i]);
        params_bytea(params, 1, p->values[i]);
    }
}

/* ---- results ---- */

static void count_added(struct push *p, size_t i) {
    struct job_times at = times_of(p, i);

    job_entered(&(struct job_row){ .q = p->q,
                                   .key = key_of(p, i),
                                   .wake_at = at.wake_at,
                                   .expires_at = at.expires_at,
                                   .retry = (int32_t)p->opt.retry },
                JOB_ADDED);
}

static struct job_key push_first_key(const struct push *p) {
    return key_of(p, p->at_front ? p->count - 1 : 0);
}

/* The number of elements of earlier requests that are not counted yet. Negative: elements of later requests are
 * counted already. */
static int64_t uncounted_before(const struct push *p) {
    return p->place > 0 ? p->place - (int64_t)p->count - p->q->adds.pushes_ended : 0;
}

/* added: the jobs to count. 0 after a lost first try, because bootstrap.c has counted its jobs. */
static void push_finish(struct push *p, size_t added) {
    int64_t uncounted = uncounted_before(p);
    int64_t len;

    landed(p);
    push_left(p);
    if (added > 0 && push_is_apart(p))
        queue_note_apart(p->q, push_first_key(p), p->req->started_us);
    for (size_t i = 0; i < added; i++)
        count_added(p, i);
    len = queue_len(p->q) + uncounted;
    req_int(p->req, len > 0 ? len : 0);
}

static void not_pushed(struct push *p) {
    landed(p);
    push_left(p);
    req_int(p->req, 0);
}

static void alike_done(struct task **tasks, size_t count, const PGresult *rows) {
    (void)rows;
    for (size_t i = 0; i < count; i++) {
        struct push *p = REQ_OF_TASK(tasks[i])->data;

        push_finish(p, p->count);
    }
}

/* A command has added all its elements, or none. */
static void push_done(struct task **tasks, size_t count, const PGresult *rows) {
    int next = 0;

    for (size_t i = 0; i < count; i++) {
        struct push *p = REQ_OF_TASK(tasks[i])->data;
        bool added = next < PQntuples(rows) && row_int8(rows, next, COL_PUSH_JOBS_ID) == p->ids[0];

        if (added)
            next += (int)p->count;
        if (added || !p->if_any)
            push_finish(p, added ? p->count : 0);
        else
            not_pushed(p);
    }
}

static void push_fail(struct task *t, const struct op_error *err) {
    struct push *p = REQ_OF_TASK(t)->data;

    landed(p);
    push_left(p);
    req_db_error(p->req, err);
}

/* After a lost transaction without a commit marker, sends the general statement. It inserts the elements that are
 * missing. */
static bool push_again(struct task *t, bool unknown) {
    struct push *p = REQ_OF_TASK(t)->data;

    landed(p);
    if (unknown) {
        p->again = true;
        t->op = &op_push;
    }
    return true;
}

/* bootstrap.c has counted the jobs. */
static void push_answer_lost(struct task *t) {
    struct push *p = REQ_OF_TASK(t)->data;

    queue_reset_scan(p->q);
    push_finish(p, 0);
}

static void if_any_begin(struct params *p) {
    params_set_time(p, 10, clock_db());
}

static void if_any_answer_lost(struct task *t) {
    struct push *p = REQ_OF_TASK(t)->data;

    queue_reset_scan(p->q);
    landed(p);
    push_left(p);
    req_answer_lost(p->req);
}

static const struct op_alike push_alike = {
    .stmt = SQL_ADD_JOBS_ALIKE,
    .shape = push_shape,
    .begin = push_alike_begin,
    .decide = push_alike_decide,
    .encode = push_alike_encode,
    .done = alike_done,
};

struct op op_push = {
    .name = "push",
    .stmt = SQL_PUSH_JOBS,
    .conn = CONN_WRITE,
    .splittable = true,
    .shares = true,
    .alike = &push_alike,
    .encode = push_encode,
    .done = push_done,
    .fail = push_fail,
    .again = push_again,
    .answer_lost = push_answer_lost,
};

struct op op_push_large = {
    .name = "push_large",
    .stmt = SQL_PUSH_JOBS,
    .conn = CONN_LARGE,
    .encode = push_encode,
    .encode_from = push_encode_from,
    .done = push_done,
    .fail = push_fail,
    .again = push_again,
    .answer_lost = push_answer_lost,
};

struct op op_push_if_any = {
    .name = "push_if_any",
    .stmt = SQL_PUSH_IF_ANY,
    .conn = CONN_WRITE,
    .shares = true,
    .begin = if_any_begin,
    .encode = push_encode,
    .done = push_done,
    .fail = push_fail,
    .again = push_again,
    .answer_lost = if_any_answer_lost,
};

/* ---- commands ---- */

static struct add_options options_of(const struct queue *q) {
    struct add_options o = { .replicate = 1, .ttl = -1, .retry = -1, .maxlen = -1 };

    o.ttl = q == NULL ? -1 : setting_of(q, SETTING_TTL);
    if (o.ttl < 0)
        o.ttl = LIST_TTL;
    addjob_settle(&o, q);
    return o;
}

static void push_push(struct req *r, enum list_end end, bool if_any) {
    struct push *p = req_alloc(r, sizeof *p);
    struct queue *q = queue_get(r->argv[1]);
    const char *refusal;
    struct get *g;

    *p = (struct push){ .req = r,
                        .q = q,
                        .end = end,
                        .if_any = if_any,
                        .opt = options_of(q),
                        .values = r->argv + 2,
                        .count = (size_t)r->argc - 2 };
    r->data = p;
    refusal = addjob_conflict(&p->opt, r->argv[1]);
    if (refusal == NULL)
        refusal = addjob_refusal(q, &p->opt);
    if (refusal != NULL) {
        req_error(r, "%s", refusal);
        return;
    }
    g = push_find_taker(p);
    if (g == NULL) {
        push_start(p);
        return;
    }
    hand_to(p, g);
    req_int(r, r->argc - 2);
}

void cmd_lpush(struct req *r) {
    push_push(r, END_LEFT, false);
}

void cmd_rpush(struct req *r) {
    push_push(r, END_RIGHT, false);
}

static void push_if_there(struct req *r, enum list_end end) {
    const struct queue *q = queue_find(r->argv[1]);
    bool in_txn = r->task.client_txn != NULL && q != NULL && (q->id != 0 || q->row.opening);

    if (in_txn || queue_is_key(q))
        push_push(r, end, in_txn);
    else
        req_int(r, 0);
}

void cmd_lpushx(struct req *r) {
    push_if_there(r, END_LEFT);
}

void cmd_rpushx(struct req *r) {
    push_if_there(r, END_RIGHT);
}
