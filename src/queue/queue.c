/* Queues in memory: counters, redelivery keys, scan positions. */
#include "queue/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/stats.h"
#include "config/config.h"
#include "pg/params.h"
#include "queue/lease.h"
#include "queue/list_orientation.h"
#include "queue/observer.h"
#include "queue/pattern_index.h"
#include "queue/queue_history.h"
#include "queue/queue_limits.h"
#include "queue/settings.h"

static struct {
    struct queue *by_name[HASH_PARTS];
    struct queue *by_id[HASH_PARTS];
    size_t count;
    struct queue **slots;
    uint32_t slot_count;
    uint32_t slot_cap;
    uint32_t first_free; /* no slot before it is free */
    struct list ready;
    struct list dirty;
    struct list paused_in;
    /* queues without a row; the first one is checked next */
    struct list rowless;
    size_t rowless_bytes;
    size_t looks;         /* how many rowless queues are still to be checked */
    struct queue *latest; /* the last result of queue_find_id(), because most calls are for the same queue */
    /* Sums over all queues. */
    int64_t total;
    int64_t len;
    int64_t dead;
    int64_t delayed;
    int64_t waiting;
    size_t keys;
    size_t shown;
} queues;

void queue_init(void) {
    list_init(&queues.ready);
    list_init(&queues.dirty);
    list_init(&queues.paused_in);
    list_init(&queues.rowless);
    globs_init();
}

struct queue *queue_find(struct slice name) {
    struct queue *q;

    PARTS_FIND(by_name, queues.by_name, name.ptr, name.len, q);
    return q;
}

struct queue *queue_find_id(int32_t id) {
    struct queue *q = queues.latest;

    if (q != NULL && q->id == id)
        return q;
    PARTS_FIND(by_id, queues.by_id, &id, sizeof id, q);
    if (q != NULL)
        queues.latest = q;
    return q;
}

static uint32_t queue_free_slot(void) {
    while (queues.first_free < queues.slot_count && queues.slots[queues.first_free] != NULL)
        queues.first_free++;
    if (queues.first_free < queues.slot_count)
        return queues.first_free;
    if (queues.slot_count == queues.slot_cap) {
        queues.slot_cap = queues.slot_cap == 0 ? 64 : queues.slot_cap * 2;
        queues.slots = xrealloc(queues.slots, queues.slot_cap * sizeof *queues.slots);
    }
    return queues.slot_count++;
}

/* ---- queues without a row ---- */

/* The memory that all unused queues without a row may take: about ten thousand queues. */
#define ROWLESS_BYTES ((size_t)8 * 1024 * 1024)
/* Number of old queues that are checked for each new one, and in each tick. Queues in use are checked, too. */
#define LOOKS_EACH 2
#define LOOKS_A_TICK 10000
#define LOOKS_A_TURN 20000

size_t queue_memory(const struct queue *q) {
    return sizeof *q + q->name.len;
}

static void add_rowless(struct queue *q) {
    list_push_back(&queues.rowless, &q->in_rowless);
    queues.rowless_bytes += queue_memory(q);
}

static void remove_rowless(struct queue *q) {
    if (list_empty(&q->in_rowless))
        return;
    list_remove(&q->in_rowless);
    queues.rowless_bytes -= queue_memory(q);
}

bool queue_is_unused(const struct queue *q) {
    return q->counters.total == 0 && q->counters.dead == 0 && q->users == 0 && q->leases == 0 &&
           q->pause == 0 && q->settings == NULL && q->claims.rows == 0 && !q->row.opening &&
           list_empty(&q->row.waiters) && list_empty(&q->counters.in_dirty);
}

void queue_unwait(struct queue *q) {
    q->users--;
    if (q->users > 0 || list_empty(&q->in_rowless))
        return;
    list_remove(&q->in_rowless);
    list_push_front(&queues.rowless, &q->in_rowless);
    queues.looks++;
}

void queues_tick(void) {
    if (queues.looks < LOOKS_A_TICK)
        queues.looks = LOOKS_A_TICK;
}

bool queues_forget_rowless(void) {
    for (size_t left = LOOKS_A_TURN; queues.looks > 0 && queues.rowless_bytes > ROWLESS_BYTES;
         queues.looks--) {
        if (left-- == 0)
            return false;
        struct queue *q = LIST_ENTRY(queues.rowless.next, struct queue, in_rowless);

        list_remove(&q->in_rowless);
        list_push_back(&queues.rowless, &q->in_rowless);
        if (queue_is_unused(q))
            queue_drop(q);
    }
    return true;
}

static struct queue *queue_new(struct slice name) {
    struct queue *q = xcalloc(1, sizeof *q);

    q->name = (struct slice){ xmemdup(name.ptr, name.len), name.len };
    q->hidden = slice_equal(q->name, SLICE(QUEUE_HIDDEN));
    position_init(&q->scan);
    q->created_us = clock_db();
    q->counters.used_us = clock_mono();
    list_init(&q->counters.in_dirty);
    list_init(&q->in_ready);
    list_init(&q->waiting.list);
    list_init(&q->row.waiters);
    list_init(&q->list.waiters);
    list_init(&q->outbox.in_changed);
    list_init(&q->outbox.in_ready);
    list_init(&q->outbox.in_room);
    list_init(&q->in_paused);
    list_init(&q->in_rowless);
    q->slot = queue_free_slot();
    queues.slots[q->slot] = q;
    PARTS_ADD(by_name, queues.by_name, q->name.ptr, q->name.len, q);
    queues.count++;
    add_rowless(q);
    queues.looks += LOOKS_EACH;
    return q;
}

struct queue *queue_use(struct queue *found, struct slice name) {
    struct queue *q = found != NULL ? found : queue_new(name);

    q->named_us = clock_mono();
    return q;
}

struct queue *queue_get(struct slice name) {
    return queue_use(queue_find(name), name);
}

void queue_set_id(struct queue *q, int32_t id) {
    if (q->id == id)
        return;
    if (q->id != 0)
        PARTS_DELETE(by_id, queues.by_id, q);
    if (queues.latest == q)
        queues.latest = NULL;
    list_orientation_set(q, END_NONE);
    q->id = id;
    if (id == 0) {
        add_rowless(q);
        return;
    }
    remove_rowless(q);
    PARTS_ADD(by_id, queues.by_id, &q->id, sizeof q->id, q);
}

static void set_queued(struct queue *q, int64_t len, int64_t ahead) {
    int64_t before = q->counters.len + q->counters.ahead, after = len + ahead;

    if (!q->hidden) {
        queues.keys -= before > 0;
        queues.keys += after > 0;
    }
    if (before <= 0 && after > 0)
        q->counters.oldest_due_us = clock_db();
    queues.len += after - before;
    q->counters.len = len;
    q->counters.ahead = ahead;
}

static void set_len(struct queue *q, int64_t len) {
    set_queued(q, len, q->counters.ahead);
}

static void set_shown(struct queue *q, bool shown) {
    if (!q->hidden) {
        queues.shown -= q->shown;
        queues.shown += shown;
    }
    q->shown = shown;
}

void queue_show(struct queue *q) {
    set_shown(q, true);
}

static void set_total(struct queue *q, int64_t total) {
    queues.total += total - q->counters.total;
    q->counters.total = total;
}

static void set_dead(struct queue *q, int64_t dead) {
    queues.dead += dead - q->counters.dead;
    q->counters.dead = dead;
}

static void set_states(struct queue *q, int64_t delayed, int64_t waiting) {
    queues.delayed += delayed - q->counters.delayed;
    queues.waiting += waiting - q->counters.waiting;
    q->counters.delayed = delayed;
    q->counters.waiting = waiting;
}

static void set_counts(struct queue *q, int64_t len, int64_t total, int64_t dead) {
    set_len(q, len);
    set_total(q, total);
    set_dead(q, dead);
}

void queue_drop(struct queue *q) {
    settings_clear(q); /* it signals the queue */
    queue_set_id(q, 0);
    queue_set_pause(q, 0);
    set_counts(q, 0, 0, 0);
    set_states(q, 0, 0);
    set_shown(q, false);
    remove_rowless(q);
    PARTS_DELETE(by_name, queues.by_name, q);
    queues.count--;
    globs_part(q);
    queues.slots[q->slot] = NULL;
    if (q->slot < queues.first_free)
        queues.first_free = q->slot;
    list_remove(&q->counters.in_dirty);
    list_remove(&q->in_ready);
    OBSERVE(dropped, q);
    limits_drop(q);
    queue_history_drop(q);
    free(q->counters.peers);
    position_free(&q->scan);
    free((char *)q->name.ptr);
    free(q);
}

/* The audit may lack jobs that CONN_LARGE committed in the same time, or the counters include them twice. */
static void note_counted(struct queue *q) {
    q->counters.counted_us = clock_mono();
    q->counters.suspect |= q->counters.landed_apart;
    q->counters.landed_apart = false;
}

/* The rows and the ids remain, because sent statements may use the ids. Unused queues are forgotten later. */
void queue_clear(void) {
    QUEUE_EACH(q) {
        list_remove(&q->counters.in_dirty);
        queue_set_pause(q, 0);
        settings_clear(q);
        set_shown(q, !list_empty(&q->waiting.list));
        set_counts(q, 0, 0, 0);
        set_states(q, 0, 0);
        note_counted(q);
        q->counters.jobs_in = q->counters.jobs_out = 0;
        q->counters.saved_in = q->counters.own.jobs_in;
        q->counters.saved_out = q->counters.own.jobs_out;
        position_clear(&q->scan);
        q->served = 0;
        list_orientation_set(q, END_NONE);
        q->created_us = clock_db();
    }
}

size_t queue_count(void) {
    return queues.count;
}

struct queue *queue_at(uint32_t slot) {
    return queues.slots[slot];
}

uint32_t queue_slots(void) {
    return queues.slot_count;
}

int64_t queue_jobs_total(void) {
    return queues.total;
}

int64_t queue_jobs_queued(void) {
    return queues.len > 0 ? queues.len : 0;
}

int64_t queue_jobs_dead(void) {
    return queues.dead > 0 ? queues.dead : 0;
}

int64_t queue_jobs_delayed(void) {
    return queues.delayed > 0 ? queues.delayed : 0;
}

int64_t queue_jobs_waiting(void) {
    return queues.waiting > 0 ? queues.waiting : 0;
}

int64_t queue_jobs_active(void) {
    int64_t rest = queues.total - queues.len - queues.delayed - queues.waiting;

    return rest > 0 ? rest : 0;
}

size_t queue_shown(void) {
    return queues.shown;
}

size_t queue_keys(void) {
    return queues.keys;
}

/* ---- readiness ---- */

/* About the bytes that a job takes besides its body; and the expected bytes of a job if no body is known. */
#define JOB_BYTES ((size_t)200)
#define UNSEEN_JOB_BYTES ((size_t)1024 * 1024)

void queue_note_body(struct queue *q, size_t len) {
    if (q->counters.total <= 0 && q->adds.accepted <= 0)
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

/* The rows that a claim requests at least while the counters are suspect. */
#define DOUBTFUL_BUDGET 16

static int64_t jobs_budget(const struct queue *q) {
    int64_t returned = (int64_t)q->scan.key_count;
    int64_t walk;

    if (queue_is_shut(q) || q->moving > 0 || q->limits.state != LIMIT_OPEN)
        return 0;
    if (!q->scan.may_have_more)
        return returned > q->claims.last_rows ? returned - q->claims.last_rows : 0;
    walk = q->counters.len - returned - q->claims.rows;
    if (q->counters.suspect && walk < DOUBTFUL_BUDGET - q->claims.rows)
        walk = DOUBTFUL_BUDGET - q->claims.rows;
    /* len may be too small for a moment, so a claim always requests at least one row. */
    if (walk < 1)
        walk = q->claims.rows == 0 ? 1 : 0;
    return returned + walk;
}

int64_t queue_budget(const struct queue *q) {
    int64_t budget = jobs_budget(q);
    int64_t room;

    if (__builtin_expect(q->limits.server_most == 0, 1))
        return budget;
    room = limits_server_room(q);
    return budget < room ? budget : room;
}

bool queue_is_awaited(struct queue *q) {
    return !list_empty(&q->waiting.list) || patterns_wait_for(q);
}

void queue_signal(struct queue *q) {
    globs_note(q);
    if (list_empty(&q->in_ready) && queue_is_awaited(q))
        list_push_back(&queues.ready, &q->in_ready);
}

struct queue *queue_next_signalled(void) {
    struct list *node = list_pop_front(&queues.ready);

    return node == NULL ? NULL : LIST_ENTRY(node, struct queue, in_ready);
}

/* A job that became ready again may have freed a concurrency slot. */
static void place_key(struct queue *q, struct job_key key) {
    position_add_key(&q->scan, key);
    limits_heard_room(q);
    queue_signal(q);
}

static void place_ready(struct queue *q, struct job_key key) {
    if (!job_key_before(q->scan.position, key))
        limits_heard_room(q);
    position_add(&q->scan, key);
    queue_signal(q);
}

void queue_job_returned(struct queue *q, struct job_key key) {
    queue_count_len(q, 1);
    place_key(q, key);
    OBSERVE(returned, key);
}

void queue_job_moved(struct queue *q, struct job_key from, struct job_key to) {
    position_remove_keys(&q->scan, &from, 1);
    place_key(q, to);
    OBSERVE(returned, to);
}

void queue_job_ready(struct queue *q, struct job_key key) {
    queue_count_len(q, 1);
    place_ready(q, key);
    OBSERVE(ready, q, key, 1);
}

void queue_note_apart(struct queue *q, int64_t sent_us) {
    q->counters.suspect |= q->counters.counted_us >= sent_us;
    q->counters.landed_apart = true;
}

void queue_heard_ready(struct queue *q, struct job_key key) {
    position_heard(&q->scan, key);
    place_ready(q, key);
}

/* If there may be other ready jobs after the scan position, the next scan finds this job, too. */
void queue_heard_returned(struct queue *q, struct job_key key) {
    position_heard(&q->scan, key);
    limits_heard_room(q);
    if (!q->scan.may_have_more || !job_key_before(q->scan.position, key))
        place_key(q, key);
}

void queue_scan_from(struct queue *q, struct job_key key) {
    position_set_back(&q->scan, key);
    queue_signal(q);
}

void queue_jobs_arrived(struct queue *q, struct job_key first, int64_t count) {
    queue_count_len(q, count);
    queue_scan_from(q, (struct job_key){ first.queue_id, first.rank, first.id - 1 });
    OBSERVE(ready, q, first, count);
}

void queue_reset_scan(struct queue *q) {
    position_reset(&q->scan);
    queue_signal(q);
}

void queue_scan_after(struct queue *q, struct job_key key) {
    position_set(&q->scan, key, q->counters.len > 0);
    queue_signal(q);
}

bool queue_misses_jobs(const struct queue *q) {
    return q->counters.len > 0 && !q->scan.may_have_more && q->scan.key_count == 0 && q->claims.rows == 0;
}

struct job_key queue_first_key(const struct queue *q) {
    struct job_key first = q->scan.position;

    first.queue_id = q->id;
    if (q->scan.key_count > 0 && !job_key_before(first, q->scan.keys[0])) {
        first = q->scan.keys[0];
        first.id--;
    }
    return first;
}

void queue_set_pause(struct queue *q, unsigned pause) {
    if ((pause & PAUSE_IN) == 0)
        list_remove(&q->in_paused);
    else if (list_empty(&q->in_paused))
        list_push_back(&queues.paused_in, &q->in_paused);
    q->pause = pause;
}

const char *queue_pause_name(unsigned pause) {
    static const char *const names[] = { "none", "in", "out", "all" };

    return names[pause & (PAUSE_IN | PAUSE_OUT)];
}

struct list *queue_paused_in(void) {
    return &queues.paused_in;
}

/* ---- counters ---- */

bool queue_count_leases(int32_t id, int64_t change, int64_t own_change) {
    struct queue *q = queue_find_id(id);

    if (q == NULL)
        return false;
    q->leases += change;
    q->own_leases += own_change;
    if (own_change < 0 && q->limits.server_most > 0)
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
    q->counters.own.len += change;
    own_changed(q);
}

void queue_count_total(struct queue *q, int64_t change) {
    set_total(q, q->counters.total + change);
    q->counters.own.total += change;
    own_changed(q);
}

void queue_count_dead(struct queue *q, int64_t change) {
    set_dead(q, q->counters.dead + change);
    q->counters.own.dead += change;
    queue_show(q);
    own_changed(q);
}

void queue_count_delayed(struct queue *q, int64_t change) {
    set_states(q, q->counters.delayed + change, q->counters.waiting);
    q->counters.own.delayed += change;
    q->counters.has_states = true;
    own_changed(q);
}

void queue_count_waiting(struct queue *q, int64_t change) {
    set_states(q, q->counters.delayed, q->counters.waiting + change);
    q->counters.own.waiting += change;
    q->counters.has_states = true;
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
    limits_room(q);
}

void queue_touch(struct queue *q) {
    q->counters.used_us = clock_mono();
}

static void mark_dirty(struct queue *q) {
    queue_touch(q);
    if (q->id != 0 && list_empty(&q->counters.in_dirty))
        list_push_back(&queues.dirty, &q->counters.in_dirty);
}

void queue_count_in(struct queue *q, int64_t jobs) {
    q->counters.jobs_in += jobs;
    q->counters.own.jobs_in += jobs;
    queue_show(q);
    mark_dirty(q);
    own_changed(q);
}

void queue_count_acked(struct queue *q) {
    q->counters.own_acked++;
}

void queue_count_out(struct queue *q, int64_t jobs) {
    q->counters.jobs_out += jobs;
    q->counters.own.jobs_out += jobs;
    mark_dirty(q);
    own_changed(q);
}

void queue_note_wait(struct queue *q, int64_t due_us) {
    int64_t wait_us = clock_db() - due_us;

    histogram_add(&stats_waits, wait_us);
    quantiles_add(&stats_recent_waits, clock_mono(), wait_us);
    if (q->waits == NULL)
        queue_history_want(q);
    if (q->waits != NULL) {
        histogram_add(q->waits, wait_us);
        quantiles_add(q->recent_waits, clock_mono(), wait_us);
    }
    queue_heard_due(q, due_us);
}

void queue_set_oldest(struct queue *q, int64_t due_us) {
    q->counters.oldest_due_us = due_us;
}

int64_t queue_oldest_us(const struct queue *q) {
    int64_t age_us = clock_db() - q->counters.oldest_due_us;

    return queue_len(q) > 0 && age_us > 0 ? age_us : 0;
}

struct queue *queue_next_dirty(int64_t *jobs_in, int64_t *jobs_out) {
    struct list *node = list_pop_front(&queues.dirty);
    struct queue_counters *c;

    if (node == NULL)
        return NULL;
    c = LIST_ENTRY(node, struct queue_counters, in_dirty);
    *jobs_in = c->own.jobs_in - c->saved_in;
    *jobs_out = c->own.jobs_out - c->saved_out;
    c->saved_in = c->own.jobs_in;
    c->saved_out = c->own.jobs_out;
    return CONTAINER_OF(c, struct queue, counters);
}

/* ---- counter shares ---- */

static struct peer_share *share_of(struct queue *q, uint16_t node, struct queue_share first) {
    for (size_t i = 0; i < q->counters.peer_count; i++)
        if (q->counters.peers[i].node == node)
            return &q->counters.peers[i];
    q->counters.peers = xrealloc(q->counters.peers, (q->counters.peer_count + 1) * sizeof *q->counters.peers);
    q->counters.peers[q->counters.peer_count] = (struct peer_share){ .node = node, .share = first };
    return &q->counters.peers[q->counters.peer_count++];
}

void queue_heard_share(struct queue *q, uint16_t node, struct queue_share share, bool base) {
    struct queue_share *known = &share_of(q, node, base ? share : (struct queue_share){ 0 })->share;

    share.delayed = known->delayed;
    share.waiting = known->waiting;

    q->counters.suspect |= base;
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

void queue_heard_states(struct queue *q, uint16_t node, int64_t delayed, int64_t waiting, bool base) {
    struct peer_share *peer = share_of(q, node, (struct queue_share){ 0 });

    q->counters.suspect |= base;
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

void queue_heard_due(struct queue *q, int64_t due_us) {
    if (due_us > q->counters.oldest_due_us)
        q->counters.oldest_due_us = due_us;
}

void queue_forget_share(struct queue *q, uint16_t node) {
    for (size_t i = 0; i < q->counters.peer_count; i++) {
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
    queue_set_dead(q, counted->dead);
    queue_set_states(q, counted->delayed, counted->waiting);
    queue_set_traffic(q, counted->jobs_in + c->own.jobs_in - c->saved_in,
                      counted->jobs_out + c->own.jobs_out - c->saved_out);
    if (c->jobs_in != jobs_in || c->jobs_out != jobs_out)
        c->counted--;
    c->suspect = false;
}

void queue_set_counts(struct queue *q, int64_t len, int64_t total) {
    set_counts(q, len, total, q->counters.dead);
    queue_changed(q);
    q->counters.counted = q->counters.changes;
    note_counted(q);
}

void queue_set_states(struct queue *q, int64_t delayed, int64_t waiting) {
    set_states(q, delayed, waiting);
}

void queue_set_dead(struct queue *q, int64_t dead) {
    set_dead(q, dead);
    if (dead > 0)
        queue_show(q);
}
