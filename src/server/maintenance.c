/* Work that is due at a time: leases, delays, TTLs, timeouts, unused queues, counters. */
#include "server/maintenance.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/node.h"
#include "base/saturate.h"
#include "base/stats.h"
#include "base/timer.h"
#include "batch/batch.h"
#include "batch/commit_marker.h"
#include "batch/dead_rows.h"
#include "batch/operations.h"
#include "batch/replication_state.h"
#include "cluster/counter_audit.h"
#include "cluster/peer_queues.h"
#include "cluster/peers.h"
#include "jobs/bootstrap.h"
#include "jobs/dead_letter.h"
#include "jobs/dead_queue.h"
#include "jobs/expire.h"
#include "jobs/flows.h"
#include "jobs/groups.h"
#include "jobs/job.h"
#include "jobs/library_values.h"
#include "jobs/retained.h"
#include "jobs/schedule.h"
#include "jobs/unique_keys.h"
#include "jobs/waiting_count.h"
#include "jobs/worker_names.h"
#include "net/client.h"
#include "pg/db.h"
#include "pg/txn_bounds.h"
#include "queue/lease.h"
#include "queue/pattern_index.h"
#include "queue/queue.h"
#include "queue/queue_latency.h"
#include "queue/queue_ready.h"
#include "queue/queue_store.h"
#include "queue/queue_survey.h"
#include "server/ready.h"

#define TICK_US (100 * US_PER_MS)
#define EXPIRY_TICKS 5 /* in-order expiry: twice a second */
#define SECOND_TICKS 10
#define GC_TICKS 100
#define PRUNE_TICKS 600 /* unique keys, groups and latencies: once a minute */
/* Counters are saved once a second. With more dead rows than COUNTERS_DEAD + COUNTERS_DEAD_EACH for each queue, they
 * are saved once in COUNTERS_HELD_TICKS. */
#define COUNTERS_HELD_TICKS 600
#define COUNTERS_DEAD 300
#define COUNTERS_DEAD_EACH 20
#define FULL_SCAN_PARTS 6              /* a sixth of the queues is scanned from the start every ten seconds */
#define DEAR_SCAN_ROUNDS 10            /* with more rows: once in ten rounds, and only if jobs are missing */
#define IDLE_QUEUE_US (300 * US_PER_S) /* as in Disque's queue.c */

static struct {
    int64_t next_tick; /* clock_mono() */
    uint64_t ticks;
    uint32_t slot;  /* index of the queue that is checked next */
    uint64_t round; /* number of passes over all queues */
    bool saving;    /* counters may be left to save */
} cron;

/* ---- leases ---- */

struct postpone {
    struct task task;
    struct job_key key;
};

/* A queue that is paused IN takes no jobs from timers. The job stays leased for another retry time. */
static void postpone(const struct lease_end *end) {
    struct postpone *p = xcalloc(1, sizeof *p);

    p->key = end->key;
    task_init(&p->task, &op_postpone_jobs);
    /* The job counts as leased until the statement has ended. */
    lease_add_row(p->key, clock_db(), end->row_until_us);
    lease_hold(p->key.id);
    batch_add(&p->task);
}

static void postpone_begin(struct params *p) {
    params_set_time(p, 3, clock_db());
}

static void postpone_encode(struct params *p, struct task *t) {
    params_key(p, 0, CONTAINER_OF(t, struct postpone, task)->key);
}

static void postpone_row(struct task *t, const PGresult *rows, int row) {
    lease_add(CONTAINER_OF(t, struct postpone, task)->key, row_time(rows, row, COL_POSTPONE_JOBS_READY_AT));
}

static void postpone_end(struct task *t, const PGresult *rows) {
    lease_unhold(CONTAINER_OF(t, struct postpone, task)->key.id);
    task_free(t, rows);
}

static void postpone_fail(struct task *t, const struct op_error *err) {
    (void)err;
    /* A lease of one second in memory repeats the postponement. */
    lease_add(CONTAINER_OF(t, struct postpone, task)->key, clock_db() + US_PER_S);
    postpone_end(t, NULL);
}

OPERATION(postpone_jobs, .names_jobs = true, .begin = postpone_begin, .encode = postpone_encode,
          .on_row = postpone_row, .on_end = postpone_end, .fail = postpone_fail);

/* The end of a lease writes nothing, because ready_at of the row already says when the job is ready. */
static void end_leases(void) {
    struct lease_end end;

    while (lease_take_ended(clock_db(), &end)) {
        struct queue *q = queue_find_id(end.key.queue_id);

        if (q == NULL || (end.owner != 0 && !peers_adopts(end.owner)))
            continue;
        if (!end.last && (q->pause & PAUSE_IN)) {
            postpone(&end);
            continue;
        }
        if (!end.failed)
            job_failed(end.key);
        if (end.last) {
            dead_letter_job(end.key, NULL, NULL);
            continue;
        }
        stats.jobs_requeued++;
        lease_end_counted(&end);
        job_entered(&(struct job_row){ .key = end.key }, JOB_RETURNED);
    }
}

/* ---- the database's clock ---- */

static struct {
    struct task task;
    int64_t asked_mono;
} ask = { .task = { .op = &op_clock, .rows = 1 } };

static void maintenance_clock_begin(struct params *p) {
    (void)p;
    ask.asked_mono = clock_mono_now();
}

/* After a step the leases are read again. */
static void maintenance_clock_done(struct task *t, const PGresult *rows) {
    int64_t moved = clock_sync_db(row_time(rows, 0, COL_CLOCK_NOW), ask.asked_mono, clock_mono_now());

    (void)t;
    if (clock_is_step(moved))
        bootstrap_again();
}

OPERATION(clock, .alone = true, .begin = maintenance_clock_begin, .on_end = maintenance_clock_done);

static void ask_clock(void) {
    batch_add_idle(&ask.task);
}

/* ---- unused queues ---- */

static bool is_unused(const struct queue *q) {
    return queue_is_unused(q) && clock_mono() - q->counters.used_us > IDLE_QUEUE_US &&
           clock_mono() - q->named_us > IDLE_QUEUE_US;
}

/* Peers may know the numbers of queues, so a server with peers forgets none. With many dead rows it forgets none,
 * either: the check that a queue is empty reads all of its dead rows. */
static bool may_forget_queues(void) {
    size_t known;

    (void)node_known(&known);
    return known <= 1 && dead_rows_of_jobs() <= DEAD_ROWS_FEW && !queue_counters_are_incomplete();
}

/* A scan from the start skips all dead, leased and delayed rows, and delays all other statements of the connection.
 * With many such rows it is only made if the counters show that ready jobs are missing. */
static bool wants_full_scan(const struct queue *q, uint64_t round) {
    if (q->id == 0 || q->counters.total <= 0)
        return false;
    if (dead_rows_of_jobs() + q->counters.total - q->counters.len <= DEAD_ROWS_FEW)
        return true;
    return round % DEAR_SCAN_ROUNDS == 0 && queue_misses_jobs(q);
}

/* Forgets an unused queue, or lets its next scan begin at the start. A scan skips rows that another session has locked.
 * The scan from the start finds them within a minute. */
static void look_at_queue(struct queue *q, bool may_forget) {
    if (may_forget && is_unused(q))
        queue_forget(q);
    else if (q->slot % FULL_SCAN_PARTS == cron.round % FULL_SCAN_PARTS &&
             wants_full_scan(q, cron.round / FULL_SCAN_PARTS))
        queue_reset_scan(q);
}

/* Checks a part of the queues at each tick. A round over all queues takes GC_TICKS. */
static void look_at_some_queues(void) {
    bool may_forget = may_forget_queues();

    for (uint32_t left = queue_slots() / GC_TICKS + 1; left > 0 && cron.slot < queue_slots(); left--) {
        struct queue *q = queue_at(cron.slot++);

        if (q != NULL)
            look_at_queue(q, may_forget);
    }
    if (cron.ticks % GC_TICKS != 0)
        return;
    cron.round++;
    cron.slot = 0;
}

/* ---- counters ---- */

/* Counters are due once a second. They are due once a minute while vacuum cannot remove their dead rows. */
static bool counters_are_due(void) {
    bool held_back = dead_rows_of_counters() > COUNTERS_DEAD + COUNTERS_DEAD_EACH * (int64_t)queue_count();

    return cron.ticks % (held_back && !counter_audit_is_pending() ? COUNTERS_HELD_TICKS : SECOND_TICKS) == 0;
}

static void save_counters(void) {
    cron.saving |= counters_are_due();
    if (cron.saving)
        cron.saving = queue_save_counters();
}

/* ---- the turn ---- */

static void take_samples(void) {
    stats_sample(clock_mono());
}

static void report_to_systemd(void) {
    char status[600];

    if (!ready_report_due())
        return;
    if (!batch_connected(CONN_WRITE))
        snprintf(status, sizeof status, "waiting for the database: %s", db_last_error());
    else if (bootstrap_is_under_way())
        snprintf(status, sizeof status, "loading the queues");
    else
        snprintf(status, sizeof status, "ready; clients: %zu, queues: %zu, jobs: %lld", client_count(),
                 queue_count(), (long long)queue_jobs_total());
    ready_report(status);
}

static void page_queues(void) {
    peer_queues_page(dead_rows_of_jobs() <= DEAD_ROWS_FEW);
}

/* The periodic work, in its order within a tick. Work that needs the loaded queues is skipped during a load. */
static const struct periodic {
    uint32_t ticks; /* once in this number of ticks */
    bool needs_load;
    void (*run)(void);
} periodic[] = {
    { 1, false, take_samples },
    { 1, false, clients_cron },
    { 1, false, peers_tick },
    { 1, false, report_to_systemd },
    { SECOND_TICKS, false, ask_clock },
    { SECOND_TICKS, false, dead_rows_ask },
    { SECOND_TICKS, false, commit_marker_look },
    { SECOND_TICKS, false, commit_marker_forget },
    { SECOND_TICKS, false, replication_ask },
    { SECOND_TICKS, false, bootstrap_retry },
    { 1, false, bootstrap_tick },
    { SECOND_TICKS / 2, false, txn_bounds_check_time },
    { 1, true, queues_tick },
    { 1, true, queue_works_tick },
    { 1, true, queue_survey_tick },
    { 1, true, queue_open_again },
    { SECOND_TICKS, true, page_queues },
    { SECOND_TICKS, true, groups_look },
    { 1, true, flows_look },
    { SECOND_TICKS, true, flows_expire },
    { SECOND_TICKS, true, flows_prune },
    { 1, true, waiting_count_tick },
    { SECOND_TICKS, true, lease_second },
    { SECOND_TICKS, true, retained_tick },
    { SECOND_TICKS, true, dead_retention_tick },
    { 1, true, worker_rows_write },
    { EXPIRY_TICKS, true, expire_look_in_order },
    { 1, true, save_counters },
    { PRUNE_TICKS, true, unique_keys_prune },
    { PRUNE_TICKS, true, groups_prune },
    { PRUNE_TICKS, false, queue_latency_free_idle },
    { GC_TICKS, true, patterns_forget_unused },
    { GC_TICKS, true, library_values_prune },
    { 1, true, look_at_some_queues },
};

static void tick(void) {
    cron.ticks++;
    for (size_t i = 0; i < LENGTH(periodic); i++) {
        if (cron.ticks % periodic[i].ticks == 0 && !(periodic[i].needs_load && bootstrap_is_under_way()))
            periodic[i].run();
    }
}

void maintenance_turn(void) {
    if (clock_mono() >= cron.next_tick) {
        cron.next_tick = clock_mono() + TICK_US;
        tick();
    }
    timers_run(clock_mono());
    if (bootstrap_is_under_way())
        return;
    end_leases();
    expire_wake();
    schedule_turn();
}

int64_t maintenance_wait(void) {
    int64_t mono = int64_least(int64_least(cron.next_tick, timers_next()), peers_next_due()) - clock_mono();
    int64_t db = int64_least(int64_least(lease_next_end(), expire_next_wake()), schedule_next_turn());
    int64_t wait = bootstrap_is_under_way() || db == INT64_MAX ? mono : int64_least(mono, db - clock_db());

    return int64_at_least_zero(wait);
}
