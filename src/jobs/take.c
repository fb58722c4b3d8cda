/* Takes: plans which requests can be served, takes jobs from queues for them, and gives each request its jobs. */
#include "jobs/take.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "config/config.h"
#include "jobs/claim_ahead.h"
#include "jobs/dead_letter.h"
#include "jobs/job.h"
#include "jobs/row_places.h"
#include "jobs/take_rows.h"
#include "jobs/turns.h"
#include "jobs/undelivered.h"
#include "pg/params.h"
#include "queue/list_orientation.h"
#include "queue/queue_limits.h"
#include "queue/queue_ready.h"

enum { TAKE_KEYS, TAKE_LEASE, TAKE_POP_FIRST, TAKE_POP_LAST, TAKE_MOVE_FIRST, TAKE_MOVE_LAST };

/* The properties of a take. Takes of one queue and kind in a transaction are one statement. */
static const struct take_kind {
    struct op *op;
    struct op *limited; /* for queues with limits */
    bool removes;       /* the jobs leave the queue; false: they are leased */
    bool moves;         /* they are inserted in other lists */
    bool last;          /* from the end that is not the consume end */
} take_kinds[TAKE_KINDS] = {
    [TAKE_KEYS] = { .op = &op_claim_keys },
    [TAKE_LEASE] = { .op = &op_claim_scan, .limited = &op_claim_limited },
    [TAKE_POP_FIRST] = { .op = &op_pop_first, .limited = &op_pop_limited, .removes = true },
    [TAKE_POP_LAST] = { .op = &op_pop_last, .limited = &op_pop_limited, .removes = true, .last = true },
    [TAKE_MOVE_FIRST] = { .op = &op_move_first, .limited = &op_pop_limited, .removes = true, .moves = true },
    [TAKE_MOVE_LAST] = { .op = &op_move_last,
                         .limited = &op_pop_limited,
                         .removes = true,
                         .moves = true,
                         .last = true },
};

/* An entry in the reply of a request, filled by the take. */
struct slot {
    struct taker *taker; /* NULL: the job is claimed ahead */
    size_t place;
    int64_t to_id; /* new id of a moved job */
};

struct take {
    struct task task;
    struct queue *q;
    const struct take_kind *kind;
    struct slot *slots;
    size_t slot_count;
    size_t slot_cap;
    size_t own_count;     /* slots of GETJOBs that name no other queue */
    size_t single_count;  /* the part of them that takes one job each */
    struct job_key *keys; /* redelivery keys that the statement looks for, at most slot_count */
    size_t key_count;
    struct job *rows;
    size_t row_count;
    struct moved_job *moved; /* moves: the same rows in the same order */
    size_t allowed;          /* rows that the scan looked for: slot_count, or fewer by the limits */
    size_t scanned;          /* rows that the scan found */
    struct job_key end;      /* the last of them */
    int64_t sent_us;         /* clock_db(): begin of the leases */
    struct queue_scan scan;
    uint64_t slots_freed; /* q->limits->slots_freed when the statement was built */
    struct list in_plan;  /* while it is not sent */
};

/* The transaction that is being planned. */
static struct {
    struct list takes;
    int queues;
    int rows;
    size_t looked_at; /* names and patterns; the rest is planned in the next turn */
    size_t bytes;     /* expected in the results */
} plan = { .takes = { &plan.takes, &plan.takes } };
#define LOOKED_MOST 5000

/* ---- takes ---- */

static struct take *take_of(struct task *t) {
    return CONTAINER_OF(t, struct take, task);
}

static struct take *take_new(struct queue *q, const struct take_kind *kind) {
    struct take *t = xcalloc(1, sizeof *t);

    t->q = q;
    t->kind = kind;
    fair_node_init(&t->task.turn);
    list_init(&t->in_plan);
    list_init(&t->scan.node);
    return t;
}

static void take_free(struct take *t) {
    position_end(&t->scan);
    free(t->slots);
    free(t->keys);
    free(t->rows);
    free(t->moved);
    free(t);
}

static void add_slot(struct take *t, struct slot s) {
    if (t->slot_count == t->slot_cap) {
        t->slot_cap = t->slot_cap == 0 ? 8 : t->slot_cap * 2;
        t->slots = xrealloc(t->slots, t->slot_cap * sizeof *t->slots);
    }
    t->slots[t->slot_count++] = s;
}

/* The claims for taker found no job, because all jobs of its queues are ahead. */
static bool found_none(const struct taker *taker, size_t jobs) {
    return jobs == 0 && taker->refusal == NULL && !taker->unblocked;
}

/* A request can own several slots. It may be freed when its last slot ends, so it must not be touched afterwards. */
static void slot_end(struct slot s) {
    size_t jobs = 0;

    if (--s.taker->pending > 0)
        return;
    for (size_t i = 0; i < s.taker->places; i++) {
        if (s.taker->jobs[i].q != NULL) {
            queue_work(s.taker->jobs[i].q)->claims.kept--;
            jobs++;
        }
    }
    if (!found_none(s.taker, jobs) || !claim_ahead_give_rest(s.taker))
        taker_finish(s.taker);
}

static void end_slots(const struct take *t) {
    for (size_t i = 0; i < t->slot_count; i++) {
        if (t->slots[i].taker == NULL)
            claim_ahead_ended(t->q, 1);
        else
            slot_end(t->slots[i]);
    }
}

/* ---- planning ---- */

static bool plan_has_room(void) {
    return plan.queues < TAKES_MOST && plan.rows < config.batch_max && plan.looked_at < LOOKED_MOST &&
           plan.bytes < (size_t)config.batch_max_bytes;
}

bool takes_pending(void) {
    return plan.looked_at >= LOOKED_MOST;
}

/* Has the result room for another job of q? A larger job is the only one of its transaction. */
static bool fits_in_plan(const struct queue *q) {
    return plan.bytes == 0 || plan.bytes + queue_job_bytes(q) <= (size_t)config.batch_max_bytes;
}

static struct take *plan_take_row(struct queue *q, const struct take_kind *kind) {
    struct take **t = &queue_work(q)->claims.latest[kind - take_kinds];

    if (*t == NULL || list_empty(&(*t)->in_plan)) {
        *t = take_new(q, kind);
        list_push_back(&plan.takes, &(*t)->in_plan);
        plan.queues++;
    }
    queue_work(q)->claims.planned++;
    plan.rows++;
    plan.bytes += queue_job_bytes(q);
    return *t;
}

static void plan_slot(struct queue *q, const struct take_kind *kind, struct taker *taker) {
    struct take *t = plan_take_row(q, kind);

    t->own_count += taker->kind == NULL && taker->wait_count == 1;
    t->single_count += taker->kind == NULL && taker->wait_count == 1 && taker->count == 1;
    add_slot(t, (struct slot){ .taker = taker, .place = taker_add_place(taker) });
}

static size_t plan_rows_ahead(struct queue *q, size_t rows) {
    size_t planned = 0;

    for (; planned < rows && plan_has_room() && fits_in_plan(q); planned++)
        add_slot(plan_take_row(q, &take_kinds[TAKE_LEASE]), (struct slot){ .taker = NULL });
    return planned;
}

static void plan_ahead(void) {
    LIST_EACH_SAFE(node, &plan.takes) {
        const struct take *t = LIST_ENTRY(node, struct take, in_plan);

        if (t->own_count > 0)
            claim_ahead_note(t->q, t->own_count, t->single_count);
    }
    claim_ahead_plan(plan_rows_ahead);
}

/* ---- planning: lists ---- */

/* The statements of a transaction do not run in the order of the waiting requests. A request after one of another
 * kind therefore waits for the next transaction. */
static bool may_share_transaction(const struct queue *q, const struct take_kind *kind) {
    for (const struct take_kind *other = &take_kinds[TAKE_POP_FIRST]; other < &take_kinds[TAKE_KINDS];
         other++)
        if (other != kind && q->work->claims.latest[other - take_kinds] != NULL)
            return false;
    return true;
}

/* A pop must know the consume end first. Then the waiting requests are served. */
static bool pop_ready_or_ask(struct queue *q, const struct pop *p) {
    if (q->id == 0 || !turn_has_more(q))
        return false;
    if (q->list.consume_end == END_NONE)
        list_orientation_ask(q, p->from);
    return q->list.consume_end != END_NONE;
}

static struct queue *first_source(const struct taker *taker) {
    for (size_t i = 0; i < taker->wait_count; i++)
        if (pop_ready_or_ask(taker->waits[i].from.q, taker->own))
            return taker->waits[i].from.q;
    return NULL;
}

/* A push may be in the same transaction, before this take. The take therefore also plans rows for jobs that are
 * being added. Otherwise it could return only some elements of a push. */
static bool plan_pop(struct taker *taker, struct queue *q) {
    const struct pop *p = taker->own;
    const struct take_kind *kind = &take_kinds[p->to == NULL ? TAKE_POP_FIRST : TAKE_MOVE_FIRST];
    int64_t coming = q->work->adds.accepted;

    kind += p->from != q->list.consume_end;
    if (taker->state == TAKER_WAITING && !may_share_transaction(q, kind))
        return false;
    taker_claim(taker);
    do
        plan_slot(q, kind, taker);
    while (taker->places < (size_t)taker->count && (turn_has_more(q) || coming-- > 0) && fits_in_plan(q));
    return true;
}

static void plan_fresh_pop(struct taker *taker) {
    struct queue *q = first_source(taker);

    if (q != NULL)
        (void)plan_pop(taker, q);
    else
        taker_wait(taker);
}

/* ---- planning: GETJOB ---- */

static bool plan_from(struct taker *taker, struct taker_source from) {
    struct queue *q = from.q;

    if (q == NULL && (q = pattern_find(from.pattern, turn_is_open)) != NULL)
        pattern_served(from.pattern, q);
    if (q == NULL || !turn_has_more(q) || !(taker->places == 0 || fits_in_plan(q)))
        return false;
    plan_slot(q, &take_kinds[TAKE_LEASE], taker);
    return true;
}

/* Plans one job from each queue in turn, until there are enough or a whole pass found none. */
static void plan_in_turn(struct taker *taker, int64_t wanted) {
    size_t at = turn_first(taker), in_vain = 0;

    while (in_vain < taker->wait_count && wanted > 0 && plan_has_room()) {
        if (plan_from(taker, taker->waits[at].from)) {
            if (taker->wait_count > 1)
                turn_note_served(&taker->waits[at]);
            in_vain = 0;
            wanted--;
        } else {
            in_vain++;
        }
        at = at + 1 < taker->wait_count ? at + 1 : 0;
    }
}

/* STRICT and WEIGHTS: the next source depends on the jobs that are planned already. */
static void plan_by_order(struct taker *taker, int64_t wanted) {
    const struct wait *w;

    while (wanted-- > 0 && plan_has_room() && (w = turn_next(taker)) != NULL && plan_from(taker, w->from)) {
        turn_note_weight(taker, w);
        plan.looked_at += taker->wait_count;
    }
}

static void plan_fresh(struct taker *taker) {
    int64_t wanted;

    if (claim_ahead_give(taker))
        return;
    wanted = taker->has_waited ? 1 : taker->count < config.batch_max ? taker->count : config.batch_max;

    if (taker->order == TAKER_IN_TURN)
        plan_in_turn(taker, wanted);
    else
        plan_by_order(taker, wanted);
    if (taker->places > 0)
        taker_claim(taker);
    else if (!claim_ahead_give_rest(taker))
        taker_wait(taker);
}

/* ---- planning: watches ---- */

/* A claim may look for a job that no counter shows. A watch is answered only if a counter shows a job. */
static bool may_wake(struct queue *q) {
    return turn_has_more(q) && queue_shows_job(q);
}

static void plan_fresh_watch(struct taker *taker) {
    for (size_t i = 0; i < taker->wait_count; i++) {
        if (may_wake(taker->waits[i].from.q)) {
            taker_deliver(taker, NULL, 0);
            return;
        }
    }
    taker_wait(taker);
}

/* ---- planning: waiting requests ---- */

/* Plans jobs of q for a waiting request. False: it is a pop that must wait for another transaction. */
static bool plan_for(struct queue *q, struct taker *taker) {
    if (!TAKER_LEASES(taker))
        return pop_ready_or_ask(q, taker->own) && plan_pop(taker, q);
    taker_claim(taker);
    plan_slot(q, &take_kinds[TAKE_LEASE], taker);
    return true;
}

/* Answers the first waiter if it is a watch and q shows a job. Returns the first waiter that takes jobs, or NULL. */
static struct taker *wake_and_find(struct queue *q) {
    struct taker *taker = waiters_first(q);

    if (taker == NULL || !taker_is_watch(taker))
        return taker;
    if (may_wake(q))
        taker_deliver(taker, NULL, 0);
    return waiters_first_taking(q);
}

/* Serves the request that has waited longest. Then the next signalled queue has its turn. A STRICT request gets no job
 * of q while a queue that it names before q has jobs: the longest waiting request there is served first. That is the
 * same request or an older one, so the search ends. */
static void plan_waiting(struct queue *q) {
    struct queue *before, *from = q;
    struct taker *taker, *first;

    claim_ahead_serve(q);
    if (!turn_has_more(q) || (first = taker = wake_and_find(q)) == NULL)
        return;
    while ((before = taker_find_before(taker, from, turn_is_open)) != NULL) {
        from = before;
        taker = wake_and_find(from);
    }
    if (!plan_for(from, taker) && (from == q || !plan_for(q, first)))
        return;
    if (turn_has_more(q))
        queue_signal(q);
}

/* ---- sending ---- */

static void take_send(struct take *t, struct op *op) {
    queue_work(t->q)->claims.rows += (int64_t)t->slot_count;
    if (t->kind->last)
        queue_work(t->q)->claims.last_rows += (int64_t)t->slot_count;
    t->task.op = op;
    t->task.rows = op == &op_claim_keys ? (uint32_t)t->key_count : 1;
    batch_add(&t->task);
}

/* They come before the slots of jobs ahead. */
static size_t slots_of_requests(const struct take *t) {
    size_t count = t->slot_count;

    while (count > 0 && t->slots[count - 1].taker == NULL)
        count--;
    return count;
}

/* Takes redelivery keys for the slots of requests. */
static void take_keys(struct take *t, const struct take *scan) {
    struct queue *q = t->q;
    size_t slots = slots_of_requests(scan), most = q->scan.key_count < slots ? q->scan.key_count : slots;
    struct job_key key;

    if (most == 0)
        return;
    t->keys = xmalloc(most * sizeof *t->keys);
    while (t->key_count < most && position_take_key(&q->scan, &key))
        t->keys[t->key_count++] = key;
}

/* Jobs with redelivery keys are before the scan position, so a claim by key fills the first slots with them. */
static void split_keys(struct take *scan) {
    struct queue *q = scan->q;
    struct take *keys;

    if (q->scan.key_count == 0 || q->work->claims.latest[TAKE_KEYS] != NULL)
        return;
    keys = take_new(q, &take_kinds[TAKE_KEYS]);
    take_keys(keys, scan);
    if (keys->key_count == 0) {
        take_free(keys);
        return;
    }
    for (size_t i = 0; i < keys->key_count; i++)
        add_slot(keys, scan->slots[i]);
    scan->slot_count -= keys->key_count;
    for (size_t i = 0; i < scan->slot_count; i++)
        scan->slots[i] = scan->slots[i + keys->key_count];
    queue_work(q)->claims.latest[TAKE_KEYS] = keys;
    take_send(keys, keys->kind->op);
}

static void forget_latest(const struct take *t) {
    struct take **latest = &queue_work(t->q)->claims.latest[t->kind - take_kinds];

    if (*latest == t)
        *latest = NULL;
}

static void send_planned(struct take *t) {
    struct queue *q = t->q;

    queue_work(q)->claims.planned = 0;
    if (!t->kind->removes && !q->limits->limited)
        split_keys(t);
    else if (!t->kind->last)
        take_keys(t, t);
    if (t->slot_count > 0) {
        take_send(t, q->limits->limited ? t->kind->limited : t->kind->op);
    } else {
        forget_latest(t);
        take_free(t);
    }
}

void take_plan(void) {
    struct queue *q;
    struct taker *taker;
    struct list *node;

    plan.queues = plan.rows = 0;
    plan.looked_at = plan.bytes = 0;
    if (waiters_hold_for_scans())
        return;
    while (plan_has_room() && (q = queue_next_signalled()) != NULL)
        plan_waiting(q);
    while (plan_has_room() && (taker = taker_next_fresh()) != NULL) {
        if (plan.rows > 0 && taker->count > config.batch_max - plan.rows) {
            taker_put_back(taker);
            break;
        }
        plan.looked_at += taker->wait_count;
        if (taker_is_watch(taker))
            plan_fresh_watch(taker);
        else if (TAKER_LEASES(taker))
            plan_fresh(taker);
        else
            plan_fresh_pop(taker);
    }
    plan_ahead();
    while ((node = list_pop_front(&plan.takes)) != NULL)
        send_planned(LIST_ENTRY(node, struct take, in_plan));
}

/* ---- parameters ---- */

/* Upper bound of the ids that a scan has seen. Peers announce their jobs by messages, which may arrive this late.
 * Jobs of peers that are younger are announced later, so the bound excludes them. */
#define UNTOLD_US (100 * US_PER_MS)

static int64_t snapshot_end(void) {
    int64_t others = node_has_peers() ? job_id_at(clock_db() - UNTOLD_US) : 0;

    return others > job_id_last() ? others : job_id_last();
}

void take_note_scan(struct queue *q, struct queue_scan *w) {
    position_begin(&q->scan, w);
    w->snapshot_end = snapshot_end();
}

/* The scan position. A pop takes redelivery keys by its scan, so it begins before them. A scan from the last end has
 * no such bound. */
static struct job_key first_key(const struct take *t) {
    struct job_key first = t->q->scan.position;

    if (t->kind->last)
        return (struct job_key){ .rank = INT16_MIN };
    for (size_t i = 0; t->kind->removes && i < t->key_count; i++) {
        if (!job_key_before(first, t->keys[i])) {
            first = t->keys[i];
            first.id--;
        }
    }
    return first;
}

static struct take *begin_scan(struct params *p, struct task *task) {
    struct take *t = take_of(task);
    struct job_key first = first_key(t);

    forget_latest(t);
    take_note_scan(t->q, &t->scan);
    t->sent_us = clock_db();
    t->slots_freed = t->q->limits->slots_freed;
    params_set_int4(p, 0, t->q->id);
    params_set_int2(p, 1, first.rank);
    params_set_int8(p, 2, first.id);
    params_set_int4(p, 3, (int32_t)t->slot_count);
    params_set_time(p, 4, t->sent_us);
    return t;
}

/* A job ahead is delivered at most CLAIM_AHEAD_KEEP_US after its claim. Its lease must not end before RETRY. */
static void claim_scan_encode(struct params *p, struct task *task) {
    const struct take *t = begin_scan(p, task);

    params_set_int2(p, 5, (int16_t)node_self()->number);
    params_set_time(p, 6, t->sent_us + (slots_of_requests(t) < t->slot_count ? CLAIM_AHEAD_KEEP_US : 0));
}

void take_begin_keys(struct params *p) {
    params_set_time(p, 3, clock_db());
    params_set_int2(p, 4, (int16_t)node_self()->number);
}

static void keys_encode(struct params *p, struct task *task) {
    struct take *t = take_of(task);

    forget_latest(t);
    t->sent_us = clock_db();
    for (size_t i = 0; i < t->key_count; i++)
        params_key(p, 0, t->keys[i]);
}

static void limited_encode(struct params *p, struct task *task) {
    const struct take *t = begin_scan(p, task);

    params_set_int2(p, 5, (int16_t)node_self()->number);
    /* An array must have an element, and no job has the id 0. */
    params_key(p, 6, (struct job_key){ t->q->id, 0, 0 });
    for (size_t i = 0; i < t->key_count; i++)
        params_key(p, 6, (struct job_key){ t->q->id, t->keys[i].rank, t->keys[i].id });
}

int64_t pop_new_id(const struct pop *p) {
    int64_t id = job_new_id(clock_db(), node_self()->number);

    return p->to_end == p->to->list.consume_end ? -id : id;
}

/* Queue 0 means that the job is deleted, not moved. */
static void encode_places(struct params *p, int col, struct take *t) {
    for (size_t i = 0; i < t->slot_count; i++) {
        const struct pop *pop = t->slots[i].taker->own;

        t->slots[i].to_id = t->kind->moves ? pop_new_id(pop) : 0;
        params_int4(p, col, t->kind->moves ? pop->to->id : 0);
        params_int8(p, col + 1, t->slots[i].to_id);
    }
}

static void pop_take_encode(struct params *p, struct task *task) {
    struct take *t = begin_scan(p, task);

    if (t->kind->moves)
        encode_places(p, 5, t);
}

static void pop_limited_encode(struct params *p, struct task *task) {
    struct take *t = begin_scan(p, task);

    params_set_bool(p, 5, t->kind->last);
    encode_places(p, 6, t);
}

/* ---- rows ---- */

/* A limited claim also returns jobs that its scan did not find. */
static bool is_of_scan(const struct take *t, const PGresult *rows, int i) {
    return t->task.op != &op_claim_limited || row_bool(rows, i, COL_CLAIM_LIMITED_IS_SCANNED);
}

static void note_scanned(struct take *t, struct job_key key) {
    if (t->scanned++ == 0 || (t->kind->last ? job_key_before(key, t->end) : job_key_before(t->end, key)))
        t->end = key;
}

static void take_read_row(struct take *t, const PGresult *rows, int i) {
    struct job *job = &t->rows[t->row_count];

    if (!t->kind->removes) {
        take_read_leased(job, rows, i, 0, t->q, t->sent_us);
        if (t->task.op == &op_claim_scan)
            row_places_note(job->key.id, row_place(rows, i, COL_CLAIM_SCAN_PLACE));
    } else if (!t->kind->moves) {
        *job = take_read_removed(rows, i, t->q);
    } else {
        t->moved[i] = t->task.op == &op_pop_limited ? take_read_moved_limited(rows, i, t->q)
                                                    : take_read_moved(rows, i, t->q);
        *job = t->moved[i].job;
    }
    t->row_count++;
    if (is_of_scan(t, rows, i))
        note_scanned(t, job->key);
}

static void take_read_rows(struct take *t, const PGresult *rows, int n) {
    t->rows = xmalloc(((size_t)n + 1) * sizeof *t->rows);
    if (t->kind->moves)
        t->moved = xmalloc(((size_t)n + 1) * sizeof *t->moved);
    for (int i = 0; i < n; i++)
        take_read_row(t, rows, i);
    if (!t->kind->moves)
        take_sort(t->rows, t->row_count, t->kind->last);
}

/* ---- the scan position ---- */

static bool has_all(const struct take *t) {
    return t->scanned >= t->allowed;
}

static bool is_among(const struct take *t, struct job_key key) {
    for (size_t i = 0; i < t->row_count; i++)
        if (t->rows[i].key.id == key.id)
            return true;
    return false;
}

/* Did the statement look for the job? A pop finds it by its scan. A limited claim that had no room did not look for
 * all keys. */
static bool was_sought(const struct take *t, struct job_key key) {
    return t->kind->removes ? t->scanned > 0 && !job_key_before(t->end, key) : is_among(t, key);
}

/* If the statement looked for a key and did not return it, the job is gone. The other keys are put back. */
static void return_keys(struct take *t) {
    for (size_t i = 0; i < t->key_count; i++)
        if (!was_sought(t, t->keys[i]))
            position_add_key(&t->q->scan, t->keys[i]);
}

static void forget_returned(struct take *t) {
    struct job_key *keys = xmalloc((t->row_count + 1) * sizeof *keys);

    for (size_t i = 0; i < t->row_count; i++)
        keys[i] = t->rows[i].key;
    position_remove_keys(&t->q->scan, keys, t->row_count);
    free(keys);
}

/* A scan from the last end tells nothing about the position, unless it reached the first job. */
static void take_apply(struct take *t) {
    if (t->kind->removes)
        forget_returned(t);
    if (has_all(t))
        return_keys(t);
    if (!t->kind->last || !has_all(t))
        position_advance(&t->q->scan, &t->scan, t->scanned > 0 ? &t->end : NULL, !has_all(t));
}

/* ---- giving ---- */

/* Gives the slot to a request that has waited longer, if there is one. Its earlier claim found nothing, and has ended,
 * because takes end in the order of their transactions. Its taker may be freed. */
static void slot_pass_to_older(const struct take *t, struct slot *s) {
    struct slot to = { .taker = s->taker == NULL ? NULL : taker_find_older(s->taker, t->q) };

    if (to.taker == NULL)
        return;
    taker_claim(to.taker);
    to.place = taker_add_place(to.taker);
    slot_end(*s);
    *s = to;
}

/* A moved job stays in the list to which it was moved, even if its client has gone. Applications use that list to
 * find the jobs of failed clients. */
static void take_give(const struct take *t, const struct job *job, struct slot s) {
    if (s.taker != NULL && s.taker->client != NULL) {
        s.taker->jobs[s.place] = *job;
        queue_work(job->q)->claims.kept++;
    } else if (!t->kind->moves) {
        undelivered_return(job, t->kind->removes);
    }
}

static void give_popped(const struct take *t) {
    for (size_t i = 0; i < t->row_count; i++) {
        undelivered_count_gone(&t->rows[i]);
        take_give(t, &t->rows[i], t->slots[t->kind->moves ? (size_t)t->moved[i].ordinal - 1 : i]);
    }
}

/* The job has used all attempts but is not yet moved to the dead-letter table. It was neither leased nor counted. */
static bool job_is_exhausted(const struct job *job) {
    return job->last && job->lease_us <= 0;
}

static void give_leased(struct take *t) {
    size_t given = 0;

    for (size_t i = 0; i < t->row_count; i++) {
        const struct job *job = &t->rows[i];

        if (job_is_exhausted(job)) {
            position_forget_key(&t->q->scan, job->key);
            dead_letter_job(job->key, NULL, NULL);
            continue;
        }
        if (given < t->slot_count)
            slot_pass_to_older(t, &t->slots[given]);
        job_claimed(t->q, job->key);
        if (given < t->slot_count && t->slots[given].taker == NULL)
            claim_ahead_keep(job);
        else
            take_give(t, job, given < t->slot_count ? t->slots[given] : (struct slot){ .taker = NULL });
        given++;
    }
}

void take_arrived(const struct pop *p, int64_t id, const struct moved_job *m) {
    queue_note_body(p->to, m->job.body.len);
    job_entered(&(struct job_row){ .q = p->to,
                                   .key = { p->to->id, 0, id },
                                   .wake_at = m->to_wake_at,
                                   .expires_at = m->to_expires_at,
                                   .retry = m->job.retry },
                JOB_ARRIVED);
}

static void moved_arrived(const struct take *t) {
    for (size_t i = 0; i < t->row_count; i++) {
        const struct slot *s = &t->slots[t->moved[i].ordinal - 1];

        take_arrived(s->taker->own, s->to_id, &t->moved[i]);
    }
}

/* ---- ends ---- */

static void uncount_sent(const struct take *t) {
    queue_work(t->q)->claims.rows -= (int64_t)t->slot_count;
    if (t->kind->last)
        queue_work(t->q)->claims.last_rows -= (int64_t)t->slot_count;
}

/* The queue is signalled before the lists to which its jobs were moved. Its waiting requests are older than the
 * requests that wait for the moved jobs. */
static void end_take(struct take *t) {
    uncount_sent(t);
    if (t->task.op != &op_claim_keys)
        take_apply(t);
    if (t->kind->removes)
        give_popped(t);
    else
        give_leased(t);
    take_count(t->row_count);
    if (queue_budget(t->q) > 0)
        queue_signal(t->q);
    if (t->kind->moves)
        moved_arrived(t);
    end_slots(t);
    take_free(t);
}

static void claim_scan_done(struct task *task, const PGresult *rows) {
    struct take *t = take_of(task);

    t->allowed = t->slot_count;
    take_read_rows(t, rows, PQntuples(rows));
    end_take(t);
}

/* col: the columns room, soon, wait_ms. If no job was taken, the columns before them are null. */
static void end_limited(struct take *t, const PGresult *rows, int col) {
    int32_t wait_ms = row_int4_or(rows, 0, col + 2, 0);

    t->allowed = (size_t)row_int4(rows, 0, col);
    take_read_rows(t, rows, row_null(rows, 0, COL_CLAIM_LIMITED_RANK) ? 0 : PQntuples(rows));
    if (has_all(t) && t->row_count < t->slot_count)
        limits_claim_refused(t->q, t->slots_freed, wait_ms, row_bool(rows, 0, col + 1));
    else
        limits_claim_allowed(t->q);
    end_take(t);
}

static void claim_limited_done(struct task *t, const PGresult *rows) {
    end_limited(take_of(t), rows, COL_CLAIM_LIMITED_ROOM);
}

static void pop_limited_done(struct task *t, const PGresult *rows) {
    end_limited(take_of(t), rows, COL_POP_LIMITED_ROOM);
}

static void keys_done(struct task **tasks, size_t count, const PGresult *rows) {
    for (size_t i = 0; i < count; i++) {
        struct take *t = take_of(tasks[i]);

        t->rows = xmalloc(t->slot_count * sizeof *t->rows);
        queue_work(t->q)->claims.reading = t;
    }
    for (int i = 0; i < PQntuples(rows); i++) {
        struct queue *q = queue_find_id(row_int4(rows, i, COL_CLAIM_KEYS_QUEUE_ID));
        struct take *t = q == NULL ? NULL : q->work->claims.reading;

        if (t != NULL)
            take_read_leased(&t->rows[t->row_count++], rows, i, COL_CLAIM_KEYS_RANK, q, t->sent_us);
    }
    for (size_t i = 0; i < count; i++) {
        struct take *t = take_of(tasks[i]);

        queue_work(t->q)->claims.reading = NULL;
        take_sort(t->rows, t->row_count, false);
        end_take(t);
    }
}

/* ---- retry and errors ---- */

/* If the statement may have been committed, a move changed both queues: scan both from the beginning. */
static void scan_again(struct take *t, bool unknown) {
    if (!unknown) {
        if (t->task.op != &op_claim_keys)
            queue_scan_from(t->q, t->q->scan.position);
        return;
    }
    queue_reset_scan(t->q);
    for (size_t i = 0; i < t->slot_count && t->kind->moves; i++)
        queue_reset_scan(((const struct pop *)t->slots[i].taker->own)->to);
}

/* Restores the state of the queue from before the plan. The requests wait again. */
static void take_give_up(struct take *t, bool unknown) {
    forget_latest(t);
    uncount_sent(t);
    for (size_t i = 0; i < t->key_count; i++)
        position_add_key(&t->q->scan, t->keys[i]);
    scan_again(t, unknown);
    queue_signal(t->q);
    end_slots(t);
    take_free(t);
}

static bool take_again(struct task *task, bool unknown) {
    take_give_up(take_of(task), unknown);
    return false;
}

static void take_fail(struct task *task, const struct op_error *err) {
    struct take *t = take_of(task);

    for (size_t i = 0; i < t->slot_count; i++)
        if (t->slots[i].taker != NULL)
            taker_refuse(t->slots[i].taker, err);
    take_give_up(t, false);
}

OPERATION(claim_keys, .takes = true, .begin = take_begin_keys, .encode = keys_encode, .done = keys_done,
          .fail = take_fail, .again = take_again);

#define TAKE_OP(id, encoder, end)                                                                     \
    OPERATION(id, .takes = true, .alone = true, .most = TAKES_MOST, .encode = encoder, .on_end = end, \
              .fail = take_fail, .again = take_again)

TAKE_OP(claim_scan, claim_scan_encode, claim_scan_done);
TAKE_OP(claim_limited, limited_encode, claim_limited_done);
TAKE_OP(pop_first, pop_take_encode, claim_scan_done);
TAKE_OP(pop_last, pop_take_encode, claim_scan_done);
TAKE_OP(move_first, pop_take_encode, claim_scan_done);
TAKE_OP(move_last, pop_take_encode, claim_scan_done);
TAKE_OP(pop_limited, pop_limited_encode, pop_limited_done);
