/* Claims: plans which gets can be served, leases rows for them, and gives each get its rows. */
#include "jobs/claim.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "config/config.h"
#include "jobs/dead_letter.h"
#include "jobs/job.h"
#include "jobs/take.h"
#include "queue/lease.h"
#include "queue/queue_limits.h"

/* An entry in the reply of a get, filled by the claim. */
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
    struct job_key *keys; /* claims by key: one per slot; in limited queues up to that */
    size_t key_count;
    struct job *rows;
    size_t row_count;
    int64_t sent_us; /* clock_db(): begin of the leases */
    struct queue_scan walk;
    uint64_t rooms; /* value of queue.rooms when the claim was sent */
    struct list in_plan;
};

static struct list planned = { &planned, &planned };
static int planned_queues;
static int planned_total;
/* Limit of the names and patterns that are looked at for one transaction. The rest is planned in the next turn. */
#define LOOKED_MOST 5000
static size_t looked_at;
/* Expected bytes in the results of the transaction. */
static size_t planned_bytes;

static bool has_room(void) {
    return planned_queues < CLAIM_MOST && planned_total < config.batch_max && looked_at < LOOKED_MOST &&
           planned_bytes < (size_t)config.batch_max_bytes;
}

bool claims_pending(void) {
    return looked_at >= LOOKED_MOST;
}

bool claim_has_room(const struct queue *q) {
    return planned_bytes == 0 || planned_bytes + queue_job_bytes(q) <= (size_t)config.batch_max_bytes;
}

void claim_count_job(const struct queue *q) {
    planned_bytes += queue_job_bytes(q);
}

/* ---- planning ---- */

static int64_t planned_rows(const struct queue *q) {
    return q->claims.plan == NULL ? 0 : (int64_t)q->claims.plan->slot_count;
}

static struct claim *claim_new(struct queue *q) {
    struct claim *c = xcalloc(1, sizeof *c);

    c->q = q;
    list_init(&c->task.node);
    list_init(&c->in_plan);
    list_init(&c->walk.node);
    return c;
}

static void add_slot(struct claim *c, struct slot s) {
    if (c->slot_count == c->slot_cap) {
        c->slot_cap = c->slot_cap == 0 ? 8 : c->slot_cap * 2;
        c->slots = xrealloc(c->slots, c->slot_cap * sizeof *c->slots);
    }
    c->slots[c->slot_count++] = s;
}

static void claim_plan_row(struct queue *q, struct get *g) {
    if (q->claims.plan == NULL) {
        q->claims.plan = claim_new(q);
        planned_queues++;
        list_push_back(&planned, &q->claims.plan->in_plan);
    }
    planned_total++;
    claim_count_job(q);
    add_slot(q->claims.plan, (struct slot){ g, get_add_place(g) });
}

static bool has_more(struct queue *q) {
    return queue_budget(q) > planned_rows(q);
}

bool claim_may_find(struct queue *q) {
    return has_more(q);
}

/* Requests of list commands plan their own claims. */
static size_t plan_own(struct get *g, struct queue *q) {
    size_t rows = g->kind->plan(g, q);

    planned_total += (int)rows;
    planned_queues += rows > 0;
    return rows;
}

/* Plans one job for the get that has waited longest. Then the next signalled queue has its turn. */
static void plan_waiting(struct queue *q) {
    struct get *g;

    if (!has_more(q) || (g = get_first_waiting(q)) == NULL)
        return;
    if (g->kind != NULL) {
        if (plan_own(g, q) > 0 && has_more(q))
            queue_signal(q);
        return;
    }
    get_claim(g);
    claim_plan_row(q, g);
    if (has_more(q))
        queue_signal(q);
}

/* Filter for patterns: the queues that match a pattern take turns over all requests. */
static bool is_open_for_more(struct queue *q) {
    return !q->row.opening && has_more(q);
}

static bool plan_from(struct get *g, struct get_source from) {
    struct queue *q = from.q;

    if (q == NULL && (q = pattern_find(from.glob, is_open_for_more)) != NULL)
        glob_served(from.glob, q);
    if (q == NULL || !has_more(q) || !(g->places == 0 || claim_has_room(q)))
        return false;
    claim_plan_row(q, g);
    return true;
}

static bool may_serve(const struct wait *w) {
    return w->from.q != NULL ? has_more(w->from.q) : pattern_find(w->from.glob, is_open_for_more) != NULL;
}

static uint64_t *served(const struct wait *w) {
    return w->from.q != NULL ? &w->from.q->claims.served : &w->from.glob->served;
}

/* A queue that is empty now keeps its place in the rotation. */
static void note_served(const struct wait *w) {
    static uint64_t turns;

    *served(w) = may_serve(w) ? ++turns : 0;
}

/* Returns the index of the first queue to take from: the leftmost, except that queues that had more jobs when they
 * were last served come later. If the search
 * always began at the left, clients that take single jobs would never reach the queues after a deep one. */
static size_t first_in_turn(const struct get *g) {
    size_t first = g->wait_count;

    if (g->wait_count == 1)
        return 0;
    for (size_t i = 0; i < g->wait_count; i++) {
        const struct wait *w = &g->waits[i];

        if ((first == g->wait_count || *served(w) < *served(&g->waits[first])) && may_serve(w))
            first = i;
    }
    return first == g->wait_count ? 0 : first;
}

/* Plans one job from each queue in turn, until there are enough or a whole pass found none. */
static void plan_fresh(struct get *g) {
    int64_t wanted = g->has_waited ? 1 : g->count < config.batch_max ? g->count : config.batch_max;
    size_t at = first_in_turn(g), in_vain = 0;

    while (in_vain < g->wait_count && wanted > 0 && has_room()) {
        if (plan_from(g, g->waits[at].from)) {
            if (g->wait_count > 1)
                note_served(&g->waits[at]);
            in_vain = 0;
            wanted--;
        } else {
            in_vain++;
        }
        at = at + 1 < g->wait_count ? at + 1 : 0;
    }
    if (g->places > 0)
        get_claim(g);
    else
        get_wait(g);
}

static void claim_free(struct claim *c) {
    position_end(&c->walk);
    free(c->slots);
    free(c->keys);
    free(c->rows);
    free(c);
}

static void send_claim(struct claim *c, struct op *op) {
    c->q->claims.rows += (int64_t)c->slot_count;
    c->task.op = op;
    c->task.rows = op == &op_claim_keys ? (uint32_t)c->key_count : 1;
    batch_add(&c->task);
}

/* Takes redelivery keys for the slots of walk. */
static void take_keys(struct claim *c, const struct claim *walk) {
    struct queue *q = c->q;
    size_t most = q->scan.key_count < walk->slot_count ? q->scan.key_count : walk->slot_count;
    struct job_key key;

    if (most == 0)
        return;
    c->keys = xmalloc(most * sizeof *c->keys);
    while (c->key_count < most && position_take_key(&q->scan, &key))
        c->keys[c->key_count++] = key;
}

/* Jobs with redelivery keys are before the scan position, so a claim by key fills the first slots with them. */
static void split_keys(struct claim *walk) {
    struct queue *q = walk->q;
    struct claim *keys;

    if (q->scan.key_count == 0 || (q->claims.by_keys != NULL && q->claims.by_keys->task.state == TASK_QUEUED))
        return;
    keys = claim_new(q);
    take_keys(keys, walk);
    if (keys->key_count == 0) {
        claim_free(keys);
        return;
    }
    for (size_t i = 0; i < keys->key_count; i++)
        add_slot(keys, walk->slots[i]);
    walk->slot_count -= keys->key_count;
    for (size_t i = 0; i < walk->slot_count; i++)
        walk->slots[i] = walk->slots[i + keys->key_count];
    q->claims.by_keys = keys;
    send_claim(keys, &op_claim_keys);
}

static void send_planned(struct claim *walk) {
    walk->q->claims.plan = NULL;
    if (walk->q->limits.limited) {
        take_keys(walk, walk);
        send_claim(walk, &op_claim_limited);
        return;
    }
    split_keys(walk);
    if (walk->slot_count > 0)
        send_claim(walk, &op_claim_walk);
    else
        claim_free(walk);
}

void claim_plan(void) {
    struct queue *q;
    struct get *g;
    struct list *node;

    planned_queues = planned_total = 0;
    looked_at = 0;
    planned_bytes = 0;
    while (has_room() && (q = queue_next_signalled()) != NULL)
        plan_waiting(q);
    while (has_room() && (g = get_next_fresh()) != NULL) {
        if (planned_total > 0 && g->count > config.batch_max - planned_total) {
            get_put_back(g);
            break;
        }
        looked_at += g->wait_count;
        if (g->kind == NULL)
            plan_fresh(g);
        else if (plan_own(g, NULL) == 0)
            get_wait(g);
    }
    while ((node = list_pop_front(&planned)) != NULL)
        send_planned(LIST_ENTRY(node, struct claim, in_plan));
}

/* ---- results ---- */

static void claim_read_row(struct claim *c, const PGresult *res, int row, int col) {
    take_read_leased(&c->rows[c->row_count++], res, row, col, c->q, c->sent_us);
}

static void slot_ended(struct slot s) {
    if (--s.get->pending == 0)
        get_finish(s.get);
}

/* The claims of a server end in the order of their transactions, so a claim in vain that began earlier has ended. */
static void give_way(struct claim *c, struct slot *s) {
    struct slot to = { s->get == NULL ? NULL : get_find_older(s->get, c->q), 0 };

    if (to.get == NULL)
        return;
    get_claim(to.get);
    to.place = get_add_place(to.get);
    slot_ended(*s);
    *s = to;
}

static void deal_row(struct claim *c, const struct job *job, struct slot s) {
    job_claimed(c->q, job->key);
    if (s.get != NULL && s.get->client != NULL)
        s.get->jobs[s.place] = *job;
    else
        claim_release(job->key, job->ready_at, job->last);
}

/* The job has used all attempts but is not yet moved to the dead-letter table. It was neither leased nor counted. */
static bool is_spent(const struct job *job) {
    return job->last && job->lease_us <= 0;
}

static void claim_deal(struct claim *c) {
    size_t dealt = 0;

    take_sort(c->rows, c->row_count, false);
    for (size_t i = 0; i < c->row_count; i++) {
        if (is_spent(&c->rows[i])) {
            position_forget_key(&c->q->scan, c->rows[i].key);
            dead_letter_job(c->rows[i].key, NULL, NULL);
            continue;
        }
        if (dealt < c->slot_count)
            give_way(c, &c->slots[dealt]);
        deal_row(c, &c->rows[i], dealt < c->slot_count ? c->slots[dealt] : (struct slot){ 0 });
        dealt++;
    }
    for (size_t i = 0; i < c->slot_count; i++)
        slot_ended(c->slots[i]);
    take_count(c->row_count);
}

static void after_claim(struct queue *q) {
    if (queue_budget(q) > 0)
        queue_signal(q);
}

/* The scan ended at the row last. NULL: where it began, or at the end of the queue. */
static void claim_end(struct claim *c, const struct job *last, bool to_the_end) {
    claim_deal(c);
    position_advance(&c->q->scan, &c->walk, last == NULL ? NULL : &last->key, to_the_end);
    after_claim(c->q);
    claim_free(c);
}

static void walk_done(struct task **tasks, size_t count, const PGresult *rows) {
    struct claim *c = CONTAINER_OF(tasks[0], struct claim, task);
    int n = PQntuples(rows);

    (void)count;
    c->rows = xmalloc(((size_t)n + 1) * sizeof *c->rows);
    for (int i = 0; i < n; i++)
        claim_read_row(c, rows, i, 0);
    c->q->claims.rows -= (int64_t)c->slot_count;
    claim_end(c, n > 0 ? &c->rows[n - 1] : NULL, c->row_count < c->slot_count);
}

static void forget_keys_claim(const struct claim *c) {
    if (c->q->claims.by_keys == c)
        c->q->claims.by_keys = NULL;
}

static void keys_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (size_t i = 0; i < count; i++) {
        struct claim *c = CONTAINER_OF(tasks[i], struct claim, task);

        c->rows = xmalloc(c->slot_count * sizeof *c->rows);
        c->q->claims.landing = c;
    }
    for (int i = 0; i < PQntuples(rows); i++) {
        struct queue *q = queue_find_id(row_int4(rows, i, COL_CLAIM_KEYS_QUEUE_ID));

        if (q != NULL && q->claims.landing != NULL)
            claim_read_row(q->claims.landing, rows, i, 1);
    }
    for (size_t i = 0; i < count; i++) {
        struct claim *c = CONTAINER_OF(tasks[i], struct claim, task);

        c->q->claims.landing = NULL;
        forget_keys_claim(c);
        c->q->claims.rows -= (int64_t)c->slot_count;
        claim_deal(c);
        after_claim(c->q);
        claim_free(c);
    }
}

/* ---- results of queues with limits ---- */

static bool is_among(const struct claim *c, struct job_key key) {
    for (size_t i = 0; i < c->row_count; i++)
        if (c->rows[i].key.id == key.id)
            return true;
    return false;
}

/* When the limits left no room, the statement did not look for all keys. Puts back the keys that it did not return. */
static void return_keys(struct claim *c) {
    for (size_t i = 0; i < c->key_count; i++)
        if (!is_among(c, c->keys[i]))
            position_add_key(&c->q->scan, c->keys[i]);
}

/* Result of the scan. */
struct brought {
    struct job last;
    int32_t count;
};

static struct brought read_limited_rows(struct claim *c, const PGresult *rows) {
    struct brought b = { .count = 0 };
    int n = PQntuples(rows);

    c->rows = xmalloc((size_t)n * sizeof *c->rows);
    for (int i = 0; i < n && !row_null(rows, i, COL_CLAIM_LIMITED_RANK); i++) {
        const struct job *job = &c->rows[i];

        claim_read_row(c, rows, i, 0);
        if (!row_bool(rows, i, COL_CLAIM_LIMITED_IS_WALKED))
            continue;
        if (b.count++ == 0 || job_key_before(b.last.key, job->key))
            b.last = *job;
    }
    return b;
}

static void note_full(struct claim *c, const PGresult *rows) {
    int32_t wait_ms = row_int4_or(rows, 0, COL_CLAIM_LIMITED_WAIT_MS, 0);

    limits_no_room(c->q, c->rooms, wait_ms, row_bool(rows, 0, COL_CLAIM_LIMITED_SOON));
}

static void limited_done(struct task **tasks, size_t count, const PGresult *rows) {
    struct claim *c = CONTAINER_OF(tasks[0], struct claim, task);
    struct queue *q = c->q;
    struct brought walked = read_limited_rows(c, rows);
    bool to_the_end = row_int4(rows, 0, COL_CLAIM_LIMITED_ROOM) > walked.count;

    (void)count;
    q->claims.rows -= (int64_t)c->slot_count;
    if (!to_the_end)
        return_keys(c);
    if (!to_the_end && c->row_count < c->slot_count)
        note_full(c, rows);
    else
        limits_not_full(q);
    claim_end(c, walked.count > 0 ? &walked.last : NULL, to_the_end);
}

/* ---- parameters ---- */

/* Upper bound of the ids that a scan has seen. Peers announce their jobs by messages, which may arrive this late.
 * Jobs of peers that are younger are announced later, so the bound excludes them. */
#define UNTOLD_US (100 * US_PER_MS)

static int64_t snapshot_end(void) {
    int64_t others = node_has_peers() ? job_id_at(clock_db() - UNTOLD_US) : 0;

    return others > job_id_last() ? others : job_id_last();
}

void claim_note_scan(struct queue *q, struct queue_scan *w) {
    position_begin(&q->scan, w);
    w->snapshot_end = snapshot_end();
}

static void claim_begin_walk(struct params *p, struct claim *c) {
    claim_note_scan(c->q, &c->walk);
    c->sent_us = clock_db();
    c->rooms = c->q->limits.rooms;
    params_set_int4(p, 0, c->q->id);
    params_set_int2(p, 1, c->q->scan.position.rank);
    params_set_int8(p, 2, c->q->scan.position.id);
    params_set_int4(p, 3, (int32_t)c->slot_count);
    params_set_time(p, 4, clock_db());
    params_set_int2(p, 5, (int16_t)node_self()->number);
}

static void walk_encode(struct params *p, struct task *t) {
    claim_begin_walk(p, CONTAINER_OF(t, struct claim, task));
}

static void claim_set_now_and_node(struct params *p) {
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

    c->sent_us = clock_db();
    for (size_t i = 0; i < c->slot_count; i++)
        encode_key(p, c->keys[i]);
}

static void limited_encode(struct params *p, struct task *t) {
    struct claim *c = CONTAINER_OF(t, struct claim, task);

    claim_begin_walk(p, c);
    /* An array must have an element, and no job has the id 0. */
    params_int4(p, 6, c->q->id);
    params_int2(p, 7, 0);
    params_int8(p, 8, 0);
    for (size_t i = 0; i < c->key_count; i++) {
        params_int4(p, 6, c->q->id);
        params_int2(p, 7, c->keys[i].rank);
        params_int8(p, 8, c->keys[i].id);
    }
}

/* ---- retry and errors ---- */

/* Restores the state of the queue from before the plan. */
static void claim_give_up(struct claim *c, bool unknown) {
    struct queue *q = c->q;

    for (size_t i = 0; i < c->key_count; i++)
        position_add_key(&q->scan, c->keys[i]);
    forget_keys_claim(c);
    queue_signal(q);
    q->claims.rows -= (int64_t)c->slot_count;
    if (unknown)
        queue_reset_scan(q);
    else if (c->task.op != &op_claim_keys)
        queue_scan_from(q, c->walk.start);
}

static bool claim_again(struct task *t, bool unknown) {
    struct claim *c = CONTAINER_OF(t, struct claim, task);

    claim_give_up(c, unknown);
    for (size_t i = 0; i < c->slot_count; i++)
        slot_ended(c->slots[i]);
    claim_free(c);
    return false;
}

static void claim_fail(struct task *t, const struct op_error *err) {
    struct claim *c = CONTAINER_OF(t, struct claim, task);

    claim_give_up(c, false);
    for (size_t i = 0; i < c->slot_count; i++) {
        get_refuse(c->slots[i].get, err);
        slot_ended(c->slots[i]);
    }
    claim_free(c);
}

struct op op_claim_keys = {
    .name = "claim_keys",
    .takes = true,
    .stmt = SQL_CLAIM_KEYS,
    .conn = CONN_WRITE,
    .begin = claim_set_now_and_node,
    .encode = keys_encode,
    .done = keys_done,
    .fail = claim_fail,
    .again = claim_again,
};

struct op op_claim_walk = {
    .name = "claim_walk",
    .takes = true,
    .stmt = SQL_CLAIM_WALK,
    .conn = CONN_WRITE,
    .alone = true,
    .most = CLAIM_MOST,
    .encode = walk_encode,
    .done = walk_done,
    .fail = claim_fail,
    .again = claim_again,
};

struct op op_claim_limited = {
    .name = "claim_limited",
    .takes = true,
    .stmt = SQL_CLAIM_LIMITED,
    .conn = CONN_WRITE,
    .alone = true,
    .most = CLAIM_MOST,
    .encode = limited_encode,
    .done = limited_done,
    .fail = claim_fail,
    .again = claim_again,
};

/* ---- putting back ---- */

struct claim_release {
    struct task task;
    struct job_key key;
    int64_t until; /* end of the lease in the row: a later delivery has another */
};

static void release(struct job_key key, int64_t until) {
    struct claim_release *r = xcalloc(1, sizeof *r);

    r->key = key;
    r->until = until;
    r->task.op = &op_release;
    r->task.rows = 1;
    list_init(&r->task.node);
    lease_hold(key.id);
    batch_add(&r->task);
}

void claim_release(struct job_key key, int64_t until, bool last) {
    lease_add(key, until);
    if (last)
        lease_set_last(key.id);
    release(key, until);
}

/* False if the lease is over or the job is gone. In both cases nothing is to be put back. */
static bool is_leased(const struct delivery *d) {
    return d->until == TIME_NEVER || lease_known(d->key.id);
}

void claim_release_unsent(struct client *c) {
    for (size_t i = 0; i < c->unsent_count; i++) {
        const struct delivery *d = &c->unsent[i];

        if (d->offset >= c->bytes_out && d->copy == NULL && is_leased(d))
            release(d->key, d->until);
    }
}

static void claim_release_encode(struct params *p, struct task *t) {
    const struct claim_release *r = CONTAINER_OF(t, struct claim_release, task);

    encode_key(p, r->key);
    params_time(p, 5, r->until);
}

static void claim_release_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++) {
        struct claim_release *r =
            CONTAINER_OF(tasks[row_int4(rows, i, COL_RELEASE_JOBS_ORDINAL) - 1], struct claim_release, task);

        lease_remove(r->key.id);
        job_entered(&(struct job_row){ .key = r->key }, JOB_RELEASED);
    }
    for (size_t i = 0; i < count; i++) {
        struct claim_release *r = CONTAINER_OF(tasks[i], struct claim_release, task);

        lease_unhold(r->key.id);
        free(r);
    }
}

/* The lease goes on, and ends by itself. */
static void claim_release_fail(struct task *t, const struct op_error *err) {
    struct claim_release *r = CONTAINER_OF(t, struct claim_release, task);

    (void)err;
    lease_unhold(r->key.id);
    free(r);
}

struct op op_release = {
    .name = "release",
    .stmt = SQL_RELEASE_JOBS,
    .names_jobs = true,
    .conn = CONN_WRITE,
    .begin = claim_set_now_and_node,
    .encode = claim_release_encode,
    .done = claim_release_done,
    .fail = claim_release_fail,
};
