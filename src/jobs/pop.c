/* Claims of list commands: take jobs from either end of a queue, or move them. */
#include "jobs/pop.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "config/config.h"
#include "jobs/claim.h"
#include "jobs/job.h"
#include "jobs/take.h"
#include "jobs/undelivered.h"
#include "queue/list_orientation.h"
#include "queue/queue_limits.h"

/* Bits of an index into q->pops. */
enum { POP_LAST = 1, POP_MOVES = 2 };

struct pop_slot {
    struct get *get;
    size_t place;
    int64_t to_id; /* new id of a moved job */
};

struct pop_claim {
    struct task task;
    struct queue *q;
    unsigned kind;
    struct pop_slot *slots;
    size_t slot_count;
    struct job_key *keys; /* redelivery keys that the statement looks for, at most slot_count */
    size_t key_count;
    size_t cap; /* capacity of slots and keys */
    struct job *rows;
    size_t row_count;
    size_t room; /* rows that the statement looked for: slot_count, or fewer by the limits */
    struct queue_scan walk;
    uint64_t rooms; /* value of queue.rooms when the claim was sent */
};

/* ---- planning ---- */

static struct op *const ops[POP_KINDS] = {
    [0] = &op_pop_first,
    [POP_LAST] = &op_pop_last,
    [POP_MOVES] = &op_move_first,
    [POP_MOVES | POP_LAST] = &op_move_last,
};

/* Returns the claim of the transaction that is being built, or a new one. Pops of one kind share a claim. */
static struct pop_claim *claim_of(struct queue *q, unsigned kind) {
    struct pop_claim *c = q->claims.pops[kind];

    if (c != NULL)
        return c;
    c = xcalloc(1, sizeof *c);
    c->q = q;
    c->kind = kind;
    list_init(&c->task.node);
    list_init(&c->walk.node);
    c->task.op = q->limits.limited ? &op_pop_limited : ops[kind];
    c->task.rows = 1;
    q->claims.pops[kind] = c;
    batch_add(&c->task);
    return c;
}

static void pop_plan_row(struct pop_claim *c, struct get *g) {
    if (c->slot_count == c->cap) {
        c->cap = c->cap == 0 ? 8 : c->cap * 2;
        c->slots = xrealloc(c->slots, c->cap * sizeof *c->slots);
        c->keys = xrealloc(c->keys, c->cap * sizeof *c->keys);
    }
    c->slots[c->slot_count++] = (struct pop_slot){ .get = g, .place = get_add_place(g) };
    c->q->claims.rows++;
    claim_count_job(c->q);
    if (c->kind & POP_LAST)
        c->q->claims.last_rows++;
    else if (position_take_key(&c->q->scan, &c->keys[c->key_count]))
        c->key_count++;
}

static bool may_find(struct queue *q) {
    return q->id != 0 && claim_may_find(q) &&
           (q->scan.may_have_more || q->scan.key_count > q->claims.last_rows);
}

/* The statements of a transaction do not run in the order of the waiting requests. A request after one of another
 * kind therefore waits for the next transaction. */
static bool is_joined(const struct queue *q, unsigned kind) {
    for (unsigned other = 0; other < POP_KINDS; other++)
        if (other != kind && q->claims.pops[other] != NULL)
            return false;
    return true;
}

/* Nothing can be taken until the consume end is known. Waiting requests are served then. */
static bool may_pop(struct queue *q, const struct pop *p) {
    if (!may_find(q))
        return false;
    if (q->list.front == END_NONE)
        list_front_ask(q, p->from);
    return q->list.front != END_NONE;
}

static struct queue *first_source(const struct get *g) {
    for (size_t i = 0; i < g->wait_count; i++)
        if (may_pop(g->waits[i].from.q, g->own))
            return g->waits[i].from.q;
    return NULL;
}

/* A push may be in the same transaction, before this claim. The claim therefore also plans rows for jobs that are
 * being added, so that it does not return only some of the push's elements. */
size_t pop_plan(struct get *g, struct queue *q) {
    const struct pop *p = g->own;
    bool fresh = q == NULL;
    struct pop_claim *c;
    unsigned kind;
    size_t rows = 0;
    int64_t coming;

    if (fresh)
        q = first_source(g);
    if (q == NULL || !may_pop(q, p))
        return 0;
    kind = (p->from != q->list.front ? POP_LAST : 0) | (p->to != NULL ? POP_MOVES : 0);
    if (!fresh && !is_joined(q, kind))
        return 0;
    get_claim(g);
    c = claim_of(q, kind);
    coming = q->adds.accepted;
    do
        pop_plan_row(c, g);
    while (++rows < (size_t)g->count && (may_find(q) || coming-- > 0) && claim_has_room(q));
    return rows;
}

/* ---- parameters ---- */

/* The scan position, or a key before it if a redelivery key is smaller. Jobs from the last end have no such bound,
 * because their claim takes no redelivery keys. */
static struct job_key pop_first_key(const struct pop_claim *c) {
    struct job_key first = c->q->scan.position;

    if (c->kind & POP_LAST)
        return (struct job_key){ .rank = INT16_MIN };
    for (size_t i = 0; i < c->key_count; i++) {
        if (!job_key_before(first, c->keys[i])) {
            first = c->keys[i];
            first.id--;
        }
    }
    return first;
}

int64_t pop_front_id(void) {
    return -job_new_id(clock_db(), node_self()->number);
}

int64_t pop_new_id(const struct pop *p) {
    return p->to_end == p->to->list.front ? pop_front_id() : -pop_front_id();
}

static void encode_places(struct params *p, int col, struct pop_claim *c) {
    for (size_t i = 0; i < c->slot_count; i++) {
        const struct pop *pop = c->slots[i].get->own;

        c->slots[i].to_id = pop_new_id(pop);
        params_int4(p, col, pop->to->id);
        params_int8(p, col + 1, c->slots[i].to_id);
    }
}

static void pop_encode_key(struct params *p, struct pop_claim *c) {
    struct job_key first = pop_first_key(c);

    c->q->claims.pops[c->kind] = NULL;
    claim_note_scan(c->q, &c->walk);
    params_set_int4(p, 0, c->q->id);
    params_set_int2(p, 1, first.rank);
    params_set_int8(p, 2, first.id);
    params_set_int4(p, 3, (int32_t)c->slot_count);
    params_set_time(p, 4, clock_db());
}

static void pop_claim_encode(struct params *p, struct task *t) {
    struct pop_claim *c = CONTAINER_OF(t, struct pop_claim, task);

    pop_encode_key(p, c);
    if (c->kind & POP_MOVES)
        encode_places(p, 5, c);
}

/* Queue 0 means that the job is deleted, not moved. */
static void encode_no_places(struct params *p, int col, const struct pop_claim *c) {
    for (size_t i = 0; i < c->slot_count; i++) {
        params_int4(p, col, 0);
        params_int8(p, col + 1, 0);
    }
}

static void pop_limited_encode(struct params *p, struct task *t) {
    struct pop_claim *c = CONTAINER_OF(t, struct pop_claim, task);

    pop_encode_key(p, c);
    c->rooms = c->q->limits.rooms;
    params_set_bool(p, 5, (c->kind & POP_LAST) != 0);
    if (c->kind & POP_MOVES)
        encode_places(p, 6, c);
    else
        encode_no_places(p, 6, c);
}

/* ---- the end of a claim ---- */

static void pop_claim_free(struct pop_claim *c) {
    position_end(&c->walk);
    free(c->slots);
    free(c->keys);
    free(c->rows);
    free(c);
}

/* A request can own several slots. It may be freed when its last slot ends, so it must not be touched afterwards. */
static void end_slots(struct pop_claim *c) {
    c->q->claims.rows -= (int64_t)c->slot_count;
    if (c->kind & POP_LAST)
        c->q->claims.last_rows -= c->slot_count;
    for (size_t i = 0; i < c->slot_count; i++) {
        struct get *g = c->slots[i].get;

        if (--g->pending == 0)
            get_finish(g);
    }
}

static bool has_all(const struct pop_claim *c) {
    return c->row_count >= c->room;
}

/* Puts back redelivery keys that the scan did not reach. If the scan reached a key and did not return it, the job
 * is gone. */
static void return_unseen(struct pop_claim *c) {
    if (!has_all(c))
        return;
    for (size_t i = 0; i < c->key_count; i++)
        if (c->row_count == 0 || job_key_before(c->rows[c->row_count - 1].key, c->keys[i]))
            position_add_key(&c->q->scan, c->keys[i]);
}

static void forget_returned(struct pop_claim *c) {
    struct job_key *keys = xmalloc((c->row_count + 1) * sizeof *keys);

    for (size_t i = 0; i < c->row_count; i++)
        keys[i] = c->rows[i].key;
    position_remove_keys(&c->q->scan, keys, c->row_count);
    free(keys);
}

/* Updates the scan position. A scan from the last end tells nothing about it, unless the scan reached the first job. */
static void pop_learn(struct pop_claim *c) {
    forget_returned(c);
    return_unseen(c);
    if (!(c->kind & POP_LAST) || !has_all(c))
        position_advance(&c->q->scan, &c->walk, c->row_count > 0 ? &c->rows[c->row_count - 1].key : NULL,
                         !has_all(c));
}

static void end_claim(struct pop_claim *c) {
    struct queue *q = c->q;

    take_count(c->row_count);
    end_slots(c);
    if (queue_budget(q) > 0)
        queue_signal(q);
    pop_claim_free(c);
}

/* ---- pops ---- */

static void pop_read_rows(struct pop_claim *c, const PGresult *rows, int n) {
    c->row_count = (size_t)n;
    c->rows = xmalloc((c->row_count + 1) * sizeof *c->rows);
    for (int i = 0; i < n; i++)
        c->rows[i] = undelivered_read(rows, i, c->q);
    take_sort(c->rows, c->row_count, c->kind & POP_LAST);
}

static void pop_give(struct pop_slot s, const struct job *job) {
    if (s.get->client != NULL)
        s.get->jobs[s.place] = *job;
    else
        undelivered_put_back(job);
}

static void pop_rows(struct pop_claim *c, const PGresult *rows, int n) {
    pop_read_rows(c, rows, n);
    pop_learn(c);
    for (size_t i = 0; i < c->row_count; i++) {
        undelivered_count_gone(&c->rows[i]);
        pop_give(c->slots[i], &c->rows[i]);
    }
}

static void pop_pop_done(struct task **tasks, size_t count, const PGresult *rows) {
    struct pop_claim *c = CONTAINER_OF(tasks[0], struct pop_claim, task);

    (void)count;
    c->room = c->slot_count;
    pop_rows(c, rows, PQntuples(rows));
    end_claim(c);
}

/* ---- moves ---- */

struct moved_job pop_read_moved(const PGresult *rows, int i, struct queue *q) {
    return (struct moved_job){
        .ordinal = row_int4(rows, i, COL_MOVE_FIRST_ORDINAL),
        .job = { .q = q,
                 .key = row_key(q->id, rows, i, COL_MOVE_FIRST_RANK),
                 .ready_at = row_time(rows, i, COL_MOVE_FIRST_READY_AT),
                 .body = row_bytes(rows, i, COL_MOVE_FIRST_BODY),
                 .expires_at = row_time(rows, i, COL_MOVE_FIRST_EXPIRES_AT),
                 .retry = row_int4(rows, i, COL_MOVE_FIRST_RETRY),
                 .group = row_bytes_or_null(rows, i, COL_MOVE_FIRST_GROUP_KEY) },
        .to_wake_at = row_time_or(rows, i, COL_MOVE_FIRST_TO_WAKE_AT, TIME_NEVER),
        .to_expires_at = row_time(rows, i, COL_MOVE_FIRST_TO_EXPIRES_AT),
    };
}

/* The same of pop_limited.sql, which has the columns of pop_first.sql before its own. */
static struct moved_job read_moved_limited(const PGresult *rows, int i, struct queue *q) {
    return (struct moved_job){
        .ordinal = row_int4(rows, i, COL_POP_LIMITED_ORDINAL),
        .job = undelivered_read(rows, i, q),
        .to_wake_at = row_time_or(rows, i, COL_POP_LIMITED_TO_WAKE_AT, TIME_NEVER),
        .to_expires_at = row_time(rows, i, COL_POP_LIMITED_TO_EXPIRES_AT),
    };
}

void pop_arrived(const struct pop *p, int64_t id, const struct moved_job *m) {
    queue_note_body(p->to, m->job.body.len);
    job_entered(&(struct job_row){ .q = p->to,
                                   .key = { p->to->id, 0, id },
                                   .wake_at = m->to_wake_at,
                                   .expires_at = m->to_expires_at,
                                   .retry = m->job.retry },
                JOB_ARRIVED);
}

/* If its client has gone, the job stays in the list to which it was moved. Applications use that list to find the
 * jobs of failed clients. */
static void depart(struct pop_claim *c, const struct moved_job *m) {
    const struct pop_slot *s = &c->slots[m->ordinal - 1];

    c->rows[c->row_count++] = m->job;
    undelivered_count_gone(&m->job);
    if (s->get->client != NULL)
        s->get->jobs[s->place] = m->job;
}

static void move_rows(struct pop_claim *c, const PGresult *rows, int n,
                      struct moved_job (*read)(const PGresult *rows, int row, struct queue *q)) {
    struct moved_job *moved = xmalloc(((size_t)n + 1) * sizeof *moved);

    c->rows = xmalloc(((size_t)n + 1) * sizeof *c->rows);
    for (int i = 0; i < n; i++) {
        moved[i] = read(rows, i, c->q);
        depart(c, &moved[i]);
    }
    take_sort(c->rows, c->row_count, c->kind & POP_LAST);
    pop_learn(c);
    /* Signals this queue first: its waiting requests are older than those that wait for the moved jobs. */
    if (queue_budget(c->q) > 0)
        queue_signal(c->q);
    for (int i = 0; i < n; i++) {
        const struct pop_slot *s = &c->slots[moved[i].ordinal - 1];

        pop_arrived(s->get->own, s->to_id, &moved[i]);
    }
    free(moved);
}

static void pop_move_done(struct task **tasks, size_t count, const PGresult *rows) {
    struct pop_claim *c = CONTAINER_OF(tasks[0], struct pop_claim, task);

    (void)count;
    c->room = c->slot_count;
    move_rows(c, rows, PQntuples(rows), pop_read_moved);
    end_claim(c);
}

/* ---- queues with limits ---- */

static void pop_limited_done(struct task **tasks, size_t count, const PGresult *rows) {
    struct pop_claim *c = CONTAINER_OF(tasks[0], struct pop_claim, task);
    int n = row_null(rows, 0, COL_POP_LIMITED_RANK) ? 0 : PQntuples(rows);
    int32_t wait_ms = row_int4_or(rows, 0, COL_POP_LIMITED_WAIT_MS, 0);

    (void)count;
    c->room = (size_t)row_int4(rows, 0, COL_POP_LIMITED_ROOM);
    if ((size_t)n >= c->room && c->room < c->slot_count)
        limits_no_room(c->q, c->rooms, wait_ms, row_bool(rows, 0, COL_POP_LIMITED_SOON));
    else
        limits_not_full(c->q);
    if (c->kind & POP_MOVES)
        move_rows(c, rows, n, read_moved_limited);
    else
        pop_rows(c, rows, n);
    end_claim(c);
}

/* ---- retry and errors ---- */

/* A move that may have been committed changed both queues: scan both from the beginning. */
static void pop_forget_all(struct pop_claim *c) {
    queue_reset_scan(c->q);
    for (size_t i = 0; i < c->slot_count && (c->kind & POP_MOVES); i++)
        queue_reset_scan(((const struct pop *)c->slots[i].get->own)->to);
}

static void pop_give_up(struct pop_claim *c, bool unknown) {
    if (c->q->claims.pops[c->kind] == c)
        c->q->claims.pops[c->kind] = NULL;
    for (size_t i = 0; i < c->key_count; i++)
        position_add_key(&c->q->scan, c->keys[i]);
    if (unknown)
        pop_forget_all(c);
    else
        queue_scan_from(c->q, c->q->scan.position);
    queue_signal(c->q);
    end_slots(c);
    pop_claim_free(c);
}

static bool pop_again(struct task *t, bool unknown) {
    pop_give_up(CONTAINER_OF(t, struct pop_claim, task), unknown);
    return false;
}

static void pop_fail(struct task *t, const struct op_error *err) {
    struct pop_claim *c = CONTAINER_OF(t, struct pop_claim, task);

    for (size_t i = 0; i < c->slot_count; i++)
        get_refuse(c->slots[i].get, err);
    pop_give_up(c, false);
}

#define POP_OP(variable, text, statement, encoder, end) \
    struct op variable = { .name = text,                \
                           .stmt = statement,           \
                           .conn = CONN_WRITE,          \
                           .alone = true,               \
                           .most = CLAIM_MOST,          \
                           .takes = true,               \
                           .encode = encoder,           \
                           .done = end,                 \
                           .fail = pop_fail,            \
                           .again = pop_again }

POP_OP(op_pop_first, "pop_first", SQL_POP_FIRST, pop_claim_encode, pop_pop_done);
POP_OP(op_pop_last, "pop_last", SQL_POP_LAST, pop_claim_encode, pop_pop_done);
POP_OP(op_move_first, "move_first", SQL_MOVE_FIRST, pop_claim_encode, pop_move_done);
POP_OP(op_move_last, "move_last", SQL_MOVE_LAST, pop_claim_encode, pop_move_done);
POP_OP(op_pop_limited, "pop_limited", SQL_POP_LIMITED, pop_limited_encode, pop_limited_done);
