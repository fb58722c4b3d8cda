/* Counter audit: counts the rows of queues whose counters may be wrong, when these queues are quiet. */
#include "cluster/counter_audit.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/node.h"
#include "base/stats.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "cluster/peer.h"
#include "jobs/recount.h"
#include "queue/queue.h"
#include "queue/queue_ready.h"

#define QUIET_US US_PER_S
#define AUDIT_US (10 * US_PER_S)
#define AUDIT_EACH_US 100 /* for each job of the queue */
#define QUEUES_MAX 500    /* maximum of one statement */
#define LOOKS_MOST 20000  /* maximum of queues examined in one turn */

struct count {
    int32_t queue_id;
    uint64_t changes; /* value of queue.changes when the statement was sent */
    bool known;
    struct queue_share counts; /* jobs_in and jobs_out as saved */
};

static struct {
    struct task task;
    struct count counts[QUEUES_MAX];
    size_t count;
    int64_t jobs;       /* of these queues, as far as known */
    bool pending;       /* a queue among the last examined waits for its audit */
    uint32_t next_slot; /* queues take turns */
} counter_audit = { .task = { .op = &op_count_queues, .rows = 1 } };

/* The count of the database includes peers whose contributions have not arrived yet. Their old contributions
 * are dropped, so that they are not added twice. */
static void forget_untold_shares(struct queue *q) {
    for (size_t i = q->counters.peer_count; i-- > 0;) {
        struct node *n = node_by_number(q->counters.peers[i].node);

        if (n == NULL || !peer_of(n)->synced)
            queue_forget_share(q, q->counters.peers[i].node);
    }
}

/* The counters have not changed since the count was sent, and not for a while before. No change was running then,
 * and the servers have saved their counters, unless a peer is slow. With peers, a second audit therefore checks the first
 * audit of suspect counters, and each audit that has changed jobs_in or jobs_out. */
static void counter_audit_take(const struct count *c) {
    struct queue *q = queue_find_id(c->queue_id);
    bool unsent_ready;

    if (q == NULL || !c->known || q->counters.changes != c->changes)
        return;
    unsent_ready = c->counts.len > q->counters.len;
    if (!q->counters.suspect && (q->counters.len != c->counts.len || q->counters.total != c->counts.total))
        log_verbose("counter_audit", "queue %d: %lld of %lld jobs queued, not %lld of %lld", q->id,
                    (long long)c->counts.len, (long long)c->counts.total, (long long)q->counters.len,
                    (long long)q->counters.total);
    forget_untold_shares(q);
    queue_set_audited(q, &c->counts);
    if (q->counters.len > 0 || q->counters.jobs_in > 0 || q->counters.jobs_out > 0)
        queue_show(q);
    stats.recounts++;
    /* Jobs without a message may be anywhere in the queue: scan it from the beginning. */
    if (unsent_ready || (q->counters.len > 0 && position_is_exhausted(&q->scan)))
        queue_reset_scan(q);
}

/* Queues that several servers use are also counted without suspicion, large queues less often. */
static bool counter_audit_is_due(const struct queue *q) {
    return node_has_peers() && q->counters.changes != q->counters.counted &&
           clock_mono() - q->counters.counted_us > AUDIT_US + q->counters.total * AUDIT_EACH_US;
}

static bool wants_count(const struct queue *q) {
    return q != NULL && q->id != 0 && (q->counters.suspect || counter_audit_is_due(q));
}

static bool is_quiet(const struct queue *q) {
    return clock_mono() - q->counters.changed_us >= QUIET_US && list_empty(&q->counters.own->in_dirty);
}

bool counter_audit_is_pending(void) {
    return counter_audit.pending;
}

static void choose(void) {
    uint32_t left = queue_slots() < LOOKS_MOST ? queue_slots() : LOOKS_MOST;

    counter_audit.count = 0;
    counter_audit.jobs = 0;
    counter_audit.pending = false;
    for (; left > 0 && counter_audit.count < QUEUES_MAX; left--) {
        struct queue *q = queue_at(counter_audit.next_slot++ % queue_slots());

        if (!wants_count(q))
            continue;
        counter_audit.pending = true;
        if (!is_quiet(q))
            continue;
        counter_audit.jobs += q->counters.total;
        counter_audit.counts[counter_audit.count++] =
            (struct count){ .queue_id = q->id, .changes = q->counters.changes };
    }
}

void counter_audit_tick(void) {
    if (counter_audit.task.state != TASK_IDLE)
        return;
    /* A recount corrects the counters by the changes since its snapshot. */
    if (recount_is_under_way()) {
        counter_audit.count = 0;
        return;
    }
    for (size_t i = 0; i < counter_audit.count; i++)
        counter_audit_take(&counter_audit.counts[i]);
    choose();
    if (counter_audit.count == 0)
        return;
    /* A queue of millions of jobs is counted over CONN_LONG: delays end by searches over CONN_READ. Counting a row costs
     * a quarter of reading it. */
    task_reads(&counter_audit.task, counter_audit.jobs / 4);
    batch_add(&counter_audit.task);
}

static void count_encode(struct params *p, struct task *t) {
    (void)t;
    for (size_t i = 0; i < counter_audit.count; i++)
        params_int4(p, 0, counter_audit.counts[i].queue_id);
    params_set_time(p, 1, clock_db());
}

/* The result has a row per queue, in the order of the ids. */
static void count_done(struct task *t, const PGresult *rows) {
    (void)t;
    for (int i = 0; i < PQntuples(rows) && (size_t)i < counter_audit.count; i++) {
        struct count *c = &counter_audit.counts[i];

        c->known = row_int4(rows, i, COL_COUNT_QUEUES_QUEUE_ID) == c->queue_id;
        c->counts.total = row_int8(rows, i, COL_COUNT_QUEUES_JOBS);
        c->counts.len = row_int8(rows, i, COL_COUNT_QUEUES_QUEUED);
        c->counts.delayed = row_int8(rows, i, COL_COUNT_QUEUES_DELAYED);
        c->counts.waiting = row_int8(rows, i, COL_COUNT_QUEUES_WAITING);
        c->counts.jobs_in = row_int8(rows, i, COL_COUNT_QUEUES_JOBS_IN);
        c->counts.jobs_out = row_int8(rows, i, COL_COUNT_QUEUES_JOBS_OUT);
        c->counts.dead = row_int8(rows, i, COL_COUNT_QUEUES_DEAD);
    }
}

OPERATION(count_queues, .alone = true, .encode = count_encode, .on_end = count_done);
