/* Claiming: plan which gets can be served, lease rows for them, deal the rows out. */
#include "claim.h"

#include <stdlib.h>

#include "batch.h"
#include "clock.h"
#include "config.h"
#include "lease.h"
#include "node.h"
#include "stats.h"

/* A place in the reply of a get that the claim is to fill. */
struct slot {
    struct get *get;
    size_t place;
};

struct claim {
    struct task task;
    struct queue *q;
    struct slot *slots;
    size_t slot_count;
    size_t slot_cap;
    struct job_key *keys; /* claim by key: as many as slots */
    struct job *rows;
    size_t row_count;
    /* Walk: what was known when it was sent. */
    struct job_key start; /* the frontier */
    uint64_t rewinds;
    int64_t horizon; /* last id made; all ids in the walk are older or equal */
    struct list in_plan;
};

/* All claims of a get travel in one flight, whose results live together: so what is
 * planned for a flight is what fits. */
#define MAX_WALKS 100

static struct list planned = { &planned, &planned };
static int planned_queues;
static int planned_total;

static bool has_room(void) {
    return planned_queues < MAX_WALKS && planned_total < config.batch_max;
}

/* ---- planning ---- */

static int64_t planned_rows(const struct queue *q) {
    return q->plan == NULL ? 0 : (int64_t)q->plan->slot_count;
}

static struct claim *claim_new(struct queue *q) {
    struct claim *c = xcalloc(1, sizeof *c);

    c->q = q;
    list_init(&c->task.node);
    list_init(&c->in_plan);
    return c;
}

static void add_slot(struct claim *c, struct slot s) {
    if (c->slot_count == c->slot_cap) {
        c->slot_cap = c->slot_cap == 0 ? 8 : c->slot_cap * 2;
        c->slots = xrealloc(c->slots, c->slot_cap * sizeof *c->slots);
    }
    c->slots[c->slot_count++] = s;
}

static void plan_row(struct queue *q, struct get *g) {
    if (q->plan == NULL) {
        q->plan = claim_new(q);
        planned_queues++;
        list_push_back(&planned, &q->plan->in_plan);
    }
    planned_total++;
    add_slot(q->plan, (struct slot){ g, get_add_place(g) });
}

/* One job for each waiting get, the longest waiting first, while there may be some. */
static void plan_waiting(struct queue *q) {
    struct get *g;

    while (has_room() && queue_budget(q) > planned_rows(q) && (g = get_first_waiting(q)) != NULL) {
        get_claim(g);
        plan_row(q, g);
    }
    if (!has_room())
        queue_signal(q);
}

/* One job from each queue in turn, until there are enough or a whole pass found none. */
static void plan_fresh(struct get *g) {
    int64_t wanted = g->has_waited ? 1 : g->count < config.batch_max ? g->count : config.batch_max;
    bool found = true;

    while (found && wanted > 0) {
        found = false;
        for (size_t i = 0; i < g->wait_count && wanted > 0 && has_room(); i++) {
            struct queue *q = g->waits[i].q;

            if (queue_budget(q) <= planned_rows(q))
                continue;
            plan_row(q, g);
            found = true;
            wanted--;
        }
    }
    if (g->places > 0)
        get_claim(g);
    else
        get_wait(g);
}

/* The first slots are filled by key, because returned jobs come before the frontier. */
static void split_keys(struct claim *walk) {
    struct queue *q = walk->q;
    size_t count = q->returned_count < walk->slot_count ? q->returned_count : walk->slot_count;
    struct claim *keys;

    if (count == 0 || (q->keys_claim != NULL && q->keys_claim->task.state == TASK_QUEUED))
        return;
    keys = claim_new(q);
    keys->keys = xmalloc(count * sizeof *keys->keys);
    for (size_t i = 0; i < count; i++) {
        if (!queue_take_returned(q, &keys->keys[i]))
            break;
        add_slot(keys, walk->slots[i]);
    }
    walk->slot_count -= count;
    for (size_t i = 0; i < walk->slot_count; i++)
        walk->slots[i] = walk->slots[i + count];
    q->keys_claim = keys;
    q->claiming += (int64_t)count;
    keys->task.op = &op_claim_keys;
    keys->task.rows = (uint32_t)count;
    batch_add(&keys->task);
}

static void claim_free(struct claim *c) {
    free(c->slots);
    free(c->keys);
    free(c->rows);
    free(c);
}

static void send_planned(struct claim *walk) {
    walk->q->plan = NULL;
    split_keys(walk);
    if (walk->slot_count == 0) {
        claim_free(walk);
        return;
    }
    walk->q->claiming += (int64_t)walk->slot_count;
    walk->task.op = &op_claim_walk;
    walk->task.rows = 1;
    batch_add(&walk->task);
}

void claim_plan(void) {
    struct queue *q;
    struct get *g;
    struct list *node;

    planned_queues = planned_total = 0;
    while (has_room() && (q = queue_next_signalled()) != NULL)
        plan_waiting(q);
    while (has_room() && (g = get_next_fresh()) != NULL) {
        if (planned_total > 0 && planned_total + g->count > config.batch_max) {
            get_put_back(g);
            break;
        }
        plan_fresh(g);
    }
    while ((node = list_pop_front(&planned)) != NULL)
        send_planned(LIST_ENTRY(node, struct claim, in_plan));
}

/* ---- results ---- */

static int compare_rows(const void *a, const void *b) {
    const struct job *x = a, *y = b;

    return job_key_before(x->key, y->key) ? -1 : job_key_before(y->key, x->key);
}

/* Columns from rank on, the same for both statements. */
static void read_row(struct claim *c, const PGresult *res, int row, int col) {
    c->rows[c->row_count++] = (struct job){
        .q = c->q,
        .key = { c->q->id, row_int2(res, row, col), row_int8(res, row, col + 1) },
        .ready_at = row_time(res, row, col + 2),
        .expires_at = row_time(res, row, col + 3),
        .retry = row_int4(res, row, col + 4),
        .nacks = row_int4(res, row, col + 5),
        .extras = row_int4(res, row, col + 6),
        .body = row_bytes(res, row, col + 7),
    };
}

static void slot_ended(struct slot s) {
    if (--s.get->pending == 0)
        get_finish(s.get);
}

/* The rows in key order to the slots in planned order. A job whose client has
 * gone meanwhile is put back. */
static void deal(struct claim *c) {
    qsort(c->rows, c->row_count, sizeof *c->rows, compare_rows);
    for (size_t i = 0; i < c->row_count; i++) {
        struct slot s = i < c->slot_count ? c->slots[i] : (struct slot){ 0 };

        /* A lease that ends just now has not been counted as queued yet. */
        if (!lease_remove(c->rows[i].key.id))
            c->q->len--;
        if (s.get != NULL && s.get->client != NULL)
            s.get->jobs[s.place] = c->rows[i];
        else
            claim_release(c->rows[i].key, c->rows[i].ready_at);
    }
    for (size_t i = 0; i < c->slot_count; i++)
        slot_ended(c->slots[i]);
    stats.claims++;
    stats.claimed_rows += c->row_count;
    if (c->row_count == 0)
        stats.claims_empty++;
}

static void after_claim(struct queue *q) {
    if (queue_budget(q) > 0)
        queue_signal(q);
}

/* A walk that brought all that was asked for stopped at its last row, and one that
 * did not has seen everything up to its horizon: flights go one after the other, so
 * nothing became ready behind its back. When the frontier was set back meanwhile,
 * somebody wants another look. */
static void advance_frontier(struct claim *c) {
    struct queue *q = c->q;
    struct job_key end = { .rank = 0, .id = c->horizon };

    if (q->rewinds != c->rewinds) {
        q->behind = true;
        return;
    }
    if (c->row_count >= c->slot_count)
        end = c->rows[c->row_count - 1].key;
    else
        q->behind = false;
    if (job_key_before(q->frontier, end))
        q->frontier = end;
}

static void walk_done(struct task **tasks, size_t count, const PGresult *rows) {
    struct claim *c = CONTAINER_OF(tasks[0], struct claim, task);
    int n = PQntuples(rows);

    (void)count;
    c->rows = xmalloc(((size_t)n + 1) * sizeof *c->rows);
    for (int i = 0; i < n; i++)
        read_row(c, rows, i, 0);
    c->q->claiming -= (int64_t)c->slot_count;
    deal(c);
    advance_frontier(c);
    after_claim(c->q);
    claim_free(c);
}

static void forget_keys_claim(const struct claim *c) {
    if (c->q->keys_claim == c)
        c->q->keys_claim = NULL;
}

static void keys_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (size_t i = 0; i < count; i++) {
        struct claim *c = CONTAINER_OF(tasks[i], struct claim, task);

        c->rows = xmalloc(c->slot_count * sizeof *c->rows);
        c->q->landing = c;
    }
    for (int i = 0; i < PQntuples(rows); i++) {
        struct queue *q = queue_find_id(row_int4(rows, i, 0));

        if (q != NULL && q->landing != NULL)
            read_row(q->landing, rows, i, 1);
    }
    for (size_t i = 0; i < count; i++) {
        struct claim *c = CONTAINER_OF(tasks[i], struct claim, task);

        c->q->landing = NULL;
        forget_keys_claim(c);
        c->q->claiming -= (int64_t)c->slot_count;
        deal(c);
        after_claim(c->q);
        claim_free(c);
    }
}

/* ---- parameters ---- */

static void walk_encode(struct params *p, struct task *t) {
    struct claim *c = CONTAINER_OF(t, struct claim, task);

    c->start = c->q->frontier;
    c->rewinds = c->q->rewinds;
    c->horizon = job_id_last();
    params_set_int4(p, 0, c->q->id);
    params_set_int2(p, 1, c->q->frontier.rank);
    params_set_int8(p, 2, c->q->frontier.id);
    params_set_int4(p, 3, (int32_t)c->slot_count);
    params_set_time(p, 4, clock_db());
    params_set_int2(p, 5, (int16_t)node_self()->number);
}

static void set_now_and_node(struct params *p) {
    params_set_time(p, 3, clock_db());
    params_set_int2(p, 4, (int16_t)node_self()->number);
}

static void encode_key(struct params *p, struct job_key key) {
    params_int4(p, 0, key.queue_id);
    params_int2(p, 1, key.rank);
    params_int8(p, 2, key.id);
}

static void keys_encode(struct params *p, struct task *t) {
    struct claim *c = CONTAINER_OF(t, struct claim, task);

    for (size_t i = 0; i < c->slot_count; i++)
        encode_key(p, c->keys[i]);
}

/* ---- claims that came to nothing ---- */

/* The queue is as if the claim had never been planned. */
static void give_up(struct claim *c, bool unknown) {
    struct queue *q = c->q;

    if (c->keys != NULL) {
        for (size_t i = 0; i < c->slot_count; i++)
            queue_return_key(q, c->keys[i]);
        forget_keys_claim(c);
        queue_signal(q);
    }
    q->claiming -= (int64_t)c->slot_count;
    if (unknown)
        queue_rewind(q);
    else if (c->keys == NULL)
        queue_walk_from(q, c->start);
}

static bool claim_again(struct task *t, bool unknown) {
    struct claim *c = CONTAINER_OF(t, struct claim, task);

    give_up(c, unknown);
    for (size_t i = 0; i < c->slot_count; i++)
        slot_ended(c->slots[i]);
    claim_free(c);
    return false;
}

static void claim_fail(struct task *t, const struct op_error *err) {
    struct claim *c = CONTAINER_OF(t, struct claim, task);

    give_up(c, false);
    for (size_t i = 0; i < c->slot_count; i++) {
        get_refuse(c->slots[i].get, err);
        slot_ended(c->slots[i]);
    }
    claim_free(c);
}

struct op op_claim_keys = {
    .name = "claim_keys",
    .stmt = SQL_CLAIM_KEYS,
    .lane = LANE_HOT,
    .begin = set_now_and_node,
    .encode = keys_encode,
    .done = keys_done,
    .fail = claim_fail,
    .again = claim_again,
};

struct op op_claim_walk = {
    .name = "claim_walk",
    .stmt = SQL_CLAIM_WALK,
    .lane = LANE_HOT,
    .alone = true,
    .most = MAX_WALKS,
    .encode = walk_encode,
    .done = walk_done,
    .fail = claim_fail,
    .again = claim_again,
};

/* ---- putting back ---- */

struct release {
    struct task task;
    struct job_key key;
};

void claim_release(struct job_key key, int64_t until) {
    struct release *r = xcalloc(1, sizeof *r);

    lease_add(key, until);

    r->key = key;
    r->task.op = &op_release;
    r->task.rows = 1;
    list_init(&r->task.node);
    lease_hold(key.id);
    batch_add(&r->task);
}

void claim_release_unsent(struct client *c) {
    for (size_t i = 0; i < c->unsent_count; i++)
        if (c->unsent[i].offset >= c->bytes_out)
            claim_release(c->unsent[i].key, c->unsent[i].until);
    c->unsent_count = 0;
}

static void release_encode(struct params *p, struct task *t) {
    encode_key(p, CONTAINER_OF(t, struct release, task)->key);
}

static void release_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++) {
        struct release *r = CONTAINER_OF(tasks[row_int4(rows, i, 0) - 1], struct release, task);
        struct queue *q = queue_find_id(r->key.queue_id);

        lease_remove(r->key.id);
        stats.jobs_released++;
        if (q != NULL)
            queue_job_returned(q, r->key);
    }
    for (size_t i = 0; i < count; i++) {
        struct release *r = CONTAINER_OF(tasks[i], struct release, task);

        lease_unhold(r->key.id);
        free(r);
    }
}

/* The lease runs on and ends by itself. */
static void release_fail(struct task *t, const struct op_error *err) {
    struct release *r = CONTAINER_OF(t, struct release, task);

    (void)err;
    lease_unhold(r->key.id);
    free(r);
}

struct op op_release = {
    .name = "release",
    .stmt = SQL_RELEASE_JOBS,
    .lane = LANE_HOT,
    .begin = set_now_and_node,
    .encode = release_encode,
    .done = release_done,
    .fail = release_fail,
};
