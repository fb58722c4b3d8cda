/* The counters of queues: changes of this server and of its peers, and the sums over all queues. */
#include "queue/queue_counters.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/saturate.h"
#include "base/stats.h"
#include "config/config.h"
#include "pg/params.h"
#include "queue/lease.h"
#include "queue/observer.h"
#include "queue/queue.h"
#include "queue/queue_history.h"
#include "queue/queue_latency.h"
#include "queue/queue_limits.h"
#include "queue/queue_ready.h"

/* About the bytes that a job takes besides its body; and the expected bytes of a job if no body is known. */
#define JOB_BYTES ((size_t)200)
#define UNSEEN_JOB_BYTES ((size_t)1024 * 1024)

/* Queues whose counters are to be saved. */
static struct list dirty = { &dirty, &dirty };
/* Sums over all queues. */
static struct {
    int64_t total;
    int64_t len;
    int64_t dead;
    int64_t delayed;
    int64_t waiting;
    size_t keys;
} sums;
static bool recounts;                /* queue_counters_note_others() */
static bool counters_are_incomplete; /* queue_counters_set_incomplete() */

const struct queue_own queue_unchanged = { .in_dirty = { (struct list *)&queue_unchanged.in_dirty,
                                                         (struct list *)&queue_unchanged.in_dirty } };

static struct queue_own *counters_new_own(struct queue *q) {
    struct queue_own *own = xcalloc(1, sizeof *own);

    own->q = q;
    list_init(&own->in_dirty);
    q->counters.own = own;
    return own;
}

/* The changes of this server, to add one. */
static inline struct queue_own *counters_own(struct queue *q) {
    bool has_none = q->counters.own == &queue_unchanged;

    return __builtin_expect(has_none, 0) ? counters_new_own(q) : (struct queue_own *)q->counters.own;
}

/* The database has all changes of this server, or gets them next. */
static void set_saved(struct queue_own *own) {
    own->saved_in = own->share.jobs_in;
    own->saved_out = own->share.jobs_out;
}

static void set_queued(struct queue *q, int64_t len, int64_t ahead) {
    int64_t before = q->counters.len + q->counters.ahead, after = len + ahead;

    if (!q->hidden) {
        sums.keys -= before > 0;
        sums.keys += after > 0;
    }
    if (before <= 0 && after > 0)
        q->counters.oldest_due_us = clock_db();
    sums.len += after - before;
    q->counters.len = len;
    q->counters.ahead = ahead;
}

static void set_len(struct queue *q, int64_t len) {
    set_queued(q, len, q->counters.ahead);
}

static void set_total(struct queue *q, int64_t total) {
    sums.total += total - q->counters.total;
    q->counters.total = total;
    if (total > 0 && !q->shown)
        queue_show(q);
}

static void set_dead(struct queue *q, int64_t dead) {
    sums.dead += dead - q->counters.dead;
    q->counters.dead = dead;
}

static void set_states(struct queue *q, int64_t delayed, int64_t waiting) {
    sums.delayed += delayed - q->counters.delayed;
    sums.waiting += waiting - q->counters.waiting;
    q->counters.delayed = delayed;
    q->counters.waiting = waiting;
}

/* The counters of a peer may come after the message of the job. The signal is for a watch that waits for the counters. */
static void set_counts(struct queue *q, int64_t len, int64_t total, int64_t dead) {
    bool shows_more = len > 0 && len > q->counters.len;

    set_len(q, len);
    set_total(q, total);
    set_dead(q, dead);
    if (shows_more)
        queue_signal(q);
}

/* The audit may lack jobs that CONN_LARGE committed in the same time, or the counters include them twice. */
static void note_counted(struct queue *q) {
    q->counters.counted_us = clock_mono();
    q->counters.suspect |= q->counters.changed_apart;
    q->counters.changed_apart = false;
}

void queue_counters_init(struct queue *q) {
    q->counters.used_us = clock_mono();
    q->counters.own = &queue_unchanged;
}

void queue_counters_clear(struct queue *q) {
    struct queue_counters *c = &q->counters;

    set_counts(q, 0, 0, 0);
    set_states(q, 0, 0);
    note_counted(q);
    c->jobs_in = c->jobs_out = 0;
    if (c->own != &queue_unchanged) {
        list_remove(&counters_own(q)->in_dirty);
        set_saved(counters_own(q));
    }
}

void queue_counters_drop(struct queue *q) {
    set_counts(q, 0, 0, 0);
    set_states(q, 0, 0);
    if (q->counters.own != &queue_unchanged) {
        list_remove(&counters_own(q)->in_dirty);
        free(counters_own(q));
        q->counters.own = &queue_unchanged;
    }
    free(q->counters.peers);
}

/* ---- all queues ---- */

int64_t queue_jobs_total(void) {
    return int64_at_least_zero(sums.total);
}

int64_t queue_jobs_queued(void) {
    return int64_at_least_zero(sums.len);
}

int64_t queue_jobs_dead(void) {
    return int64_at_least_zero(sums.dead);
}

int64_t queue_jobs_delayed(void) {
    return int64_at_least_zero(sums.delayed);
}

int64_t queue_jobs_waiting(void) {
    return int64_at_least_zero(sums.waiting);
}

int64_t queue_jobs_active(void) {
    return int64_at_least_zero(sums.total - sums.len - sums.delayed - sums.waiting);
}

size_t queue_keys(void) {
    return sums.keys;
}

/* ---- changes of this server ---- */

void queue_note_apart(struct queue *q, int64_t sent_us) {
    q->counters.suspect |= q->counters.counted_us >= sent_us;
    q->counters.changed_apart = true;
}

bool queue_count_leases(int32_t id, int64_t change, int64_t own_change) {
    struct queue *q = queue_find_id(id);

    if (q == NULL)
        return false;
    q->leases += change;
    q->own_leases += own_change;
    if (own_change < 0 && q->limits->server_most > 0)
        queue_signal(q);
    return true;
}

void queue_count_ahead(int32_t id, int64_t change) {
    struct queue *q = queue_find_id(id);

    if (q != NULL)
        set_queued(q, q->counters.len, q->counters.ahead + change);
}

static void queue_changed(struct queue *q) {
    q->counters.changes++;
    q->counters.changed_us = clock_mono();
}

static void own_changed(struct queue *q) {
    queue_changed(q);
    OBSERVE(counted, q);
}

void queue_count_len(struct queue *q, int64_t change) {
    set_len(q, q->counters.len + change);
    counters_own(q)->share.len += change;
    own_changed(q);
}

void queue_count_total(struct queue *q, int64_t change) {
    set_total(q, q->counters.total + change);
    counters_own(q)->share.total += change;
    own_changed(q);
}

void queue_count_dead(struct queue *q, int64_t change) {
    set_dead(q, q->counters.dead + change);
    counters_own(q)->share.dead += change;
    queue_show(q);
    own_changed(q);
}

void queue_count_delayed(struct queue *q, int64_t change) {
    set_states(q, q->counters.delayed + change, q->counters.waiting);
    counters_own(q)->share.delayed += change;
    counters_own(q)->has_states = true;
    own_changed(q);
}

void queue_count_waiting(struct queue *q, int64_t change) {
    set_states(q, q->counters.delayed, q->counters.waiting + change);
    counters_own(q)->share.waiting += change;
    counters_own(q)->has_states = true;
    own_changed(q);
}

bool queue_count_state(struct queue *q, int64_t since, int64_t change) {
    if (since == TIME_DELAYED)
        queue_count_delayed(q, change);
    else if (since == TIME_WAITING)
        queue_count_waiting(q, change);
    else
        return false;
    return true;
}

/* If this server has another lease of the job, a peer has changed the row since. If that lease has ended,
 * the peer took the job for queued and counted by this server. So this server counts it now. */
bool queue_end_lease(struct job_key key, int64_t row_until) {
    struct queue *q = queue_find_id(key.queue_id);
    int64_t other;
    bool same = lease_remove_row(key.id, row_until, &other);

    if (q != NULL && other != 0 && other <= clock_db()) {
        queue_count_in(q, 1);
        queue_count_len(q, 1);
    }
    return same;
}

/* A job is queued if its ready_at has passed. Otherwise, without a lease here and in no other state, a peer watches its
 * lease. */
void queue_count_gone(struct job_key key, int64_t queued_since) {
    struct queue *q = queue_find_id(key.queue_id);
    bool exhausted = queued_since == TIME_BEGINNING;
    bool leased = exhausted ? lease_remove(key.id) : queue_end_lease(key, queued_since);

    if (!leased && queued_since > clock_db() && queued_since < TIME_DELAYED)
        OBSERVE(lease_ended, key, queued_since, true);
    if (q == NULL) {
        OBSERVE(uncounted, key.queue_id);
        return;
    }
    queue_count_total(q, -1);
    (void)queue_count_state(q, queued_since, -1);
    if (!leased && !exhausted && queued_since <= clock_db())
        queue_count_len(q, -1);
    limits_slot_freed(q);
}

void queue_touch(struct queue *q) {
    q->counters.used_us = clock_mono();
}

static void mark_dirty(struct queue *q) {
    queue_touch(q);
    if (q->id != 0 && list_empty(&q->counters.own->in_dirty))
        list_push_back(&dirty, &counters_own(q)->in_dirty);
}

void queue_count_in(struct queue *q, int64_t jobs) {
    q->counters.jobs_in += jobs;
    counters_own(q)->share.jobs_in += jobs;
    queue_show(q);
    mark_dirty(q);
    own_changed(q);
}

void queue_count_acked(struct queue *q) {
    counters_own(q)->acked++;
}

void queue_count_failed(struct queue *q) {
    counters_own(q)->failed++;
}

void queue_count_died(struct queue *q) {
    counters_own(q)->died++;
}

void queue_count_out(struct queue *q, int64_t jobs) {
    q->counters.jobs_out += jobs;
    counters_own(q)->share.jobs_out += jobs;
    mark_dirty(q);
    own_changed(q);
}

void queue_note_wait(struct queue *q, int64_t due_us) {
    int64_t wait_us = clock_db() - due_us;

    histogram_add(&stats_waits, wait_us);
    quantiles_add(&stats_recent_waits, clock_mono(), wait_us);
    queue_latency_note(q, wait_us);
    if (q->waits == NULL)
        queue_history_want(q);
    if (q->waits != NULL)
        histogram_add(q->waits, wait_us);
    queue_receive_due(q, due_us);
}

void queue_set_oldest(struct queue *q, int64_t due_us) {
    q->counters.oldest_due_us = due_us;
}

int64_t queue_oldest_us(const struct queue *q) {
    return queue_len(q) > 0 ? int64_at_least_zero(clock_db() - q->counters.oldest_due_us) : 0;
}

struct queue *queue_next_dirty(int64_t *jobs_in, int64_t *jobs_out) {
    struct list *node = list_pop_front(&dirty);
    struct queue_own *own;

    if (node == NULL)
        return NULL;
    own = LIST_ENTRY(node, struct queue_own, in_dirty);
    *jobs_in = own->share.jobs_in - own->saved_in;
    *jobs_out = own->share.jobs_out - own->saved_out;
    set_saved(own);
    return own->q;
}

void queue_note_body(struct queue *q, size_t len) {
    if (q->counters.total <= 0 && q->work->adds.accepted <= 0 && !queue_counters_are_incomplete())
        q->counters.largest_body = 0;
    if (len + JOB_BYTES > q->counters.largest_body)
        q->counters.largest_body = len + JOB_BYTES;
}

size_t queue_job_bytes(const struct queue *q) {
    return q->counters.largest_body > 0 ? q->counters.largest_body : UNSEEN_JOB_BYTES;
}

int64_t queue_result_rows(const struct queue *q) {
    int64_t rows = (int64_t)((size_t)config.batch_max_bytes / queue_job_bytes(q));

    return rows < 1 ? 1 : rows < config.batch_max ? rows : config.batch_max;
}

/* Skipped rows count a quarter: task_reads(). */
int64_t queue_rows_read(const struct queue *q, int64_t skipped, int64_t wanted, bool with_bodies) {
    int64_t queued = queue_len(q);
    int64_t rows = int64_least(wanted, queued);

    skipped = int64_least(skipped, queued) + int64_at_least_zero(q->counters.total - queued);
    if (with_bodies && rows < TASK_READS_MOST)
        rows *= 1 + (int64_t)(queue_job_bytes(q) / OP_ROW_BYTES);
    return skipped / 4 + rows;
}

/* ---- counter shares, loads and audits ---- */

static struct peer_share *share_of(struct queue *q, uint16_t node, struct queue_share first) {
    for (uint32_t i = 0; i < q->counters.peer_count; i++)
        if (q->counters.peers[i].node == node)
            return &q->counters.peers[i];
    q->counters.peers = xrealloc(q->counters.peers, (q->counters.peer_count + 1) * sizeof *q->counters.peers);
    q->counters.peers[q->counters.peer_count] = (struct peer_share){ .node = node, .share = first };
    return &q->counters.peers[q->counters.peer_count++];
}

void queue_receive_share(struct queue *q, uint16_t node, struct queue_share share, bool base) {
    struct queue_share *known = &share_of(q, node, base ? share : (struct queue_share){ 0 })->share;

    share.delayed = known->delayed;
    share.waiting = known->waiting;

    q->counters.suspect |= base || recounts;
    set_counts(q, q->counters.len + share.len - known->len, q->counters.total + share.total - known->total,
               q->counters.dead + share.dead - known->dead);
    q->counters.jobs_in += share.jobs_in - known->jobs_in;
    q->counters.jobs_out += share.jobs_out - known->jobs_out;
    if (share.jobs_in > known->jobs_in || (!base && q->counters.dead > 0))
        queue_show(q);
    if (share.jobs_in != known->jobs_in || share.jobs_out != known->jobs_out)
        q->counters.used_us = clock_mono();
    *known = share;
    queue_changed(q);
}

void queue_receive_states(struct queue *q, uint16_t node, int64_t delayed, int64_t waiting, bool base) {
    struct peer_share *peer = share_of(q, node, (struct queue_share){ 0 });

    q->counters.suspect |= base || recounts;
    if (base && !peer->has_states) {
        peer->share.delayed = delayed;
        peer->share.waiting = waiting;
    }
    peer->has_states = true;
    set_states(q, q->counters.delayed + delayed - peer->share.delayed,
               q->counters.waiting + waiting - peer->share.waiting);
    peer->share.delayed = delayed;
    peer->share.waiting = waiting;
    queue_changed(q);
}

void queue_receive_due(struct queue *q, int64_t due_us) {
    if (due_us > q->counters.oldest_due_us)
        q->counters.oldest_due_us = due_us;
}

void queue_forget_share(struct queue *q, uint16_t node) {
    for (uint32_t i = 0; i < q->counters.peer_count; i++) {
        if (q->counters.peers[i].node == node) {
            q->counters.peers[i] = q->counters.peers[--q->counters.peer_count];
            return;
        }
    }
}

void queue_forget_shares(uint16_t node) {
    QUEUE_EACH(q)
    queue_forget_share(q, node);
}

void queue_suspect(struct queue *q) {
    q->counters.suspect = true;
}

void queue_suspect_all(void) {
    QUEUE_EACH(q)
    queue_suspect(q);
}

void queue_set_traffic(struct queue *q, int64_t jobs_in, int64_t jobs_out) {
    q->counters.jobs_in = jobs_in;
    q->counters.jobs_out = jobs_out;
}

void queue_set_audited(struct queue *q, const struct queue_share *counted) {
    struct queue_counters *c = &q->counters;
    int64_t jobs_in = c->jobs_in, jobs_out = c->jobs_out;

    queue_set_counts(q, counted->len, counted->total);
    set_dead(q, counted->dead);
    if (counted->dead > 0)
        queue_show(q);
    set_states(q, counted->delayed, counted->waiting);
    queue_set_traffic(q, counted->jobs_in + c->own->share.jobs_in - c->own->saved_in,
                      counted->jobs_out + c->own->share.jobs_out - c->own->saved_out);
    if (c->suspect || c->jobs_in != jobs_in || c->jobs_out != jobs_out)
        c->counted--;
    c->suspect = false;
}

void queue_set_counts(struct queue *q, int64_t len, int64_t total) {
    set_counts(q, len, total, q->counters.dead);
    queue_changed(q);
    q->counters.counted = q->counters.changes;
    note_counted(q);
}

void queue_counters_set_incomplete(bool on) {
    counters_are_incomplete = on;
}

bool queue_counters_are_incomplete(void) {
    return counters_are_incomplete;
}

void queue_counters_note_others(bool on) {
    recounts = on;
}

void queue_correct(struct queue *q, const struct queue_share *missing) {
    const struct queue_counters *c = &q->counters;

    set_counts(q, c->len + missing->len, c->total + missing->total, c->dead + missing->dead);
    set_states(q, c->delayed + missing->delayed, c->waiting + missing->waiting);
    queue_changed(q);
}
