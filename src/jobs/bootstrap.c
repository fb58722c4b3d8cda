/* Loads the state of the database, at start and after a lost connection. */
#include "jobs/bootstrap.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/node.h"
#include "batch/batch.h"
#include "batch/dead_rows.h"
#include "batch/operations.h"
#include "config/config.h"
#include "jobs/expire.h"
#include "jobs/lease_load.h"
#include "jobs/recount.h"
#include "net/sockets.h"
#include "queue/lease.h"
#include "queue/queue.h"
#include "queue/queue_ready.h"
#include "queue/settings.h"
#include "queue/waiters.h"

/* Commands wait for a recount for at most this time. */
#define BOOTSTRAP_PATIENCE_US (5 * US_PER_S)

static struct {
    struct task clock;
    struct task secret;
    struct task prune;
    struct task node;
    struct task nodes;
    struct task queues;
    int64_t clock_asked; /* clock_mono_now() */
    bool only_look;      /* --check */
    bool loaded;
    bool failed;
    /* A refresh reads the leases and counts the jobs. */
    bool counting;     /* a refresh is wanted or under way */
    int64_t since_us;  /* clock_mono() when it was first wanted, or of the last connection */
    int64_t since_db;  /* clock_db() when it was first wanted */
    bool reading;      /* the refresh is under way */
    bool again;        /* the refresh must begin again when it has ended */
    bool offered;      /* the commands that have waited for BOOTSTRAP_PATIENCE_US go on */
    bool counted;      /* the first count has ended */
    bool knows_leases; /* the leases were read */
    bool lost;         /* transactions were lost since the leases were last complete */
    bool unplaced;     /* scan positions may be at the beginning of queues with jobs */
    struct bootstrap_hooks hooks;
} load = {
    .clock = { .op = &op_load_clock, .rows = 1 },
    .secret = { .op = &op_load_secret, .rows = 1 },
    .prune = { .op = &op_prune_nodes, .rows = 1 },
    .node = { .op = &op_register_node, .rows = 1 },
    .nodes = { .op = &op_load_nodes, .rows = 1 },
    .queues = { .op = &op_load_queues, .rows = 1 },
};

void bootstrap_on(struct bootstrap_hooks hooks) {
    load.hooks = hooks;
}

bool bootstrap_is_under_way(void) {
    return !load.loaded;
}

bool bootstrap_counts_jobs(void) {
    return load.counting;
}

enum bootstrap_counters bootstrap_counters(void) {
    if (__builtin_expect(!load.counting, 1))
        return COUNTERS_KNOWN;
    if (clock_mono() - load.since_us < BOOTSTRAP_PATIENCE_US)
        return COUNTERS_AWAITED;
    return load.counted ? COUNTERS_KNOWN : COUNTERS_LATE;
}

void bootstrap_only_read(void) {
    load.only_look = true;
}

static void refresh_begin(void);
static void refresh_counters(void);

/* Lost transactions may have made jobs ready before the scan positions. */
static void reset_scans(void) {
    QUEUE_EACH(q)
    queue_reset_scan(q);
}

void bootstrap_start(void) {
    load.lost |= load.knows_leases;
    load.unplaced = true;
    if (load.loaded)
        reset_scans();
    /* Commands have not waited for the count while the database was away. */
    load.since_us = clock_mono();
    bootstrap_again();
}

/* The clock is read first, in transactions of its own, because its error is the duration of the transaction. Leases
 * given by a late clock end too soon after it is corrected. */
void bootstrap_again(void) {
    if (load.loaded)
        refresh_begin();
    else
        batch_add_idle(&load.clock);
}

/* Another server took the same number at the same moment, or the database has failed. bootstrap_retry() starts the load
 * again. */
static void load_fail(struct task *t, const struct op_error *err) {
    log_warning("load", "%s: %s (SQLSTATE %s); trying again", t->op->name, err->message, err->sqlstate);
    load.failed = true;
}

void bootstrap_retry(void) {
    if (!load.failed)
        return;
    load.failed = false;
    if (!load.loaded || (load.counting && !load.reading))
        bootstrap_again();
}

/* ---- clock, secret, nodes ---- */

static void bootstrap_clock_begin(struct params *p) {
    (void)p;
    load.clock_asked = clock_mono_now();
}

static void ask_for_all(void) {
    batch_add_idle(&load.secret);
    batch_add_idle(&load.prune);
    batch_add_idle(&load.node);
    batch_add_idle(&load.nodes);
    batch_add_idle(&load.queues);
    dead_rows_ask();
}

static void bootstrap_clock_done(struct task *t, const PGresult *rows) {
    (void)t;
    if (load.loaded)
        return;
    if (!clock_sync_first(row_time(rows, 0, COL_CLOCK_NOW), load.clock_asked, clock_mono_now())) {
        batch_add_idle(&load.clock);
    } else if (load.only_look) {
        batch_add_idle(&load.queues);
    } else {
        ask_for_all();
    }
}

static void secret_done(struct task *t, const PGresult *rows) {
    (void)t;
    if (PQntuples(rows) != 1 || row_bytes(rows, 0, COL_LOAD_SECRET_KEY).len != JOBID_SECRET_LEN)
        log_fatal("load", "pgdisque.secret must hold one key of 16 bytes");
    jobid_set_secret((const unsigned char *)row_bytes(rows, 0, COL_LOAD_SECRET_KEY).ptr);
}

static void bootstrap_prune_begin(struct params *p) {
    params_set_time(p, 0, clock_db());
    params_set_text(p, 1, node_self()->id);
}

static void register_begin(struct params *p) {
    char addr[64];

    sockets_address(addr, sizeof addr);
    params_set_text(p, 0, node_self()->id);
    params_set_text(p, 1, addr);
    params_set_int4(p, 2, config.announce_port != 0 ? config.announce_port : config_own_port());
    params_set_int8(p, 3, (int64_t)node_self()->run);
}

static void register_done(struct task *t, const PGresult *rows) {
    (void)t;
    node_self()->number = (uint16_t)row_int2(rows, 0, COL_REGISTER_NODE_NUMBER);
    if (node_self()->run == 0)
        node_self()->run = (uint64_t)row_int8(rows, 0, COL_REGISTER_NODE_RUN);
}

static void copy_text(char *out, size_t size, struct slice s) {
    snprintf(out, size, "%.*s", (int)s.len, s.ptr);
}

static void load_node(const PGresult *rows, int row) {
    struct node n = {
        .number = (uint16_t)row_int2(rows, row, COL_LOAD_NODES_NUMBER),
        .port = row_int4(rows, row, COL_LOAD_NODES_PORT),
        .leaving = row_bool(rows, row, COL_LOAD_NODES_LEAVING),
        .left = row_bool(rows, row, COL_LOAD_NODES_HAS_LEFT),
        .seen_us = row_time(rows, row, COL_LOAD_NODES_SEEN_AT),
    };

    copy_text(n.id, sizeof n.id, row_bytes(rows, row, COL_LOAD_NODES_ID));
    copy_text(n.addr, sizeof n.addr, row_bytes(rows, row, COL_LOAD_NODES_ADDR));
    if (strcmp(n.id, node_self()->id) != 0)
        node_update(&n);
}

static bool bootstrap_has_row(const struct node *n, const PGresult *rows) {
    for (int i = 0; i < PQntuples(rows); i++)
        if (row_int2(rows, i, COL_LOAD_NODES_NUMBER) == n->number)
            return true;
    return false;
}

static void nodes_done(struct task *t, const PGresult *rows) {
    size_t known;
    struct node *const *nodes = node_known(&known);

    (void)t;
    for (size_t i = 1; i < known; i++)
        if (!bootstrap_has_row(nodes[i], rows))
            node_forget(nodes[i]);
    for (int i = 0; i < PQntuples(rows); i++)
        load_node(rows, i);
}

void bootstrap_nodes(void) {
    batch_add_idle(&load.prune);
    batch_add_idle(&load.nodes);
}

void bootstrap_register(void) {
    batch_add_idle(&load.node);
}

/* ---- queues ---- */

static void load_queue(const PGresult *rows, int row) {
    struct queue *q = queue_get(row_bytes(rows, row, COL_LOAD_QUEUES_NAME));

    queue_set_id(q, row_int4(rows, row, COL_LOAD_QUEUES_ID));
    queue_set_pause(q, (unsigned)row_int2(rows, row, COL_LOAD_QUEUES_PAUSE));
    q->created_us = row_time(rows, row, COL_LOAD_QUEUES_CREATED_AT);
    queue_set_traffic(q, row_int8(rows, row, COL_LOAD_QUEUES_JOBS_IN),
                      row_int8(rows, row, COL_LOAD_QUEUES_JOBS_OUT));
    if (q->pause != 0 || q->counters.jobs_in > 0)
        queue_show(q);
    settings_read(q, rows, row, COL_LOAD_QUEUES_SETTING);
    queue_reset_scan(q);
}

static void queues_done(struct task *t, const PGresult *rows) {
    (void)t;
    for (int i = 0; i < PQntuples(rows); i++)
        load_queue(rows, i);
    if (load.failed)
        return;
    if (load.only_look) {
        refresh_counters();
        return;
    }
    load.loaded = true;
    lease_set_incomplete(true);
    queue_counters_set_incomplete(true);
    expire_reset_scan();
    log_notice("load", "queues: %zu; this is node %u, %s", queue_count(), node_self()->number,
               node_self()->id);
    load.hooks.on_loaded();
    refresh_begin();
}

/* ---- leases and counters ---- */

static void refresh_leases(void);

/* False: the refresh begins again, or bootstrap_retry() starts it again. */
static bool refresh_goes_on(bool ok) {
    if (load.again) {
        refresh_leases();
        return false;
    }
    if (!ok) {
        load.reading = false;
        load.failed = true;
    }
    return ok;
}

static void note_first_count(void) {
    load.counted = true;
    queue_counters_set_incomplete(false);
    if (!load.only_look)
        log_notice("load", "jobs: %lld, leases: %zu", (long long)queue_jobs_total(), lease_count());
}

static void on_counted(bool ok) {
    bool first = !load.counted;

    if (!refresh_goes_on(ok))
        return;
    load.reading = load.counting = load.unplaced = false;
    waiters_expect(WAITERS_SCANS, false);
    if (first)
        note_first_count();
    load.hooks.on_counted(first);
    load.hooks.offer_again();
}

static void complete_leases(void) {
    load.lost = false;
    load.knows_leases = true;
    lease_set_incomplete(false);
    QUEUE_EACH(q)
    if (q->limits->server_most > 0)
        queue_signal(q);
    waiters_expect(WAITERS_LEASES, false);
}

static void refresh_counters(void) {
    recount_start(load.hooks.on_snapshot, on_counted);
}

static void on_leases_loaded(bool ok) {
    if (!refresh_goes_on(ok))
        return;
    complete_leases();
    refresh_counters();
}

/* After the start, and after a lost claim, a claim scans its queue from the beginning. The count tells where the first
 * ready job is. With many dead rows it is faster to wait for that. Their number may stay unknown, if the read connection
 * cannot be opened. */
static bool takes_must_wait(void) {
    if (!load.unplaced)
        return false;
    return dead_rows_are_known() ? dead_rows_of_jobs() > DEAD_ROWS_FEW
                                 : clock_mono() - load.since_us < BOOTSTRAP_PATIENCE_US;
}

static void refresh_leases(void) {
    load.reading = true;
    load.again = false;
    waiters_expect(WAITERS_LEASES, true);
    waiters_expect(WAITERS_SCANS, takes_must_wait());
    lease_load_start(load.since_db, load.lost, on_leases_loaded);
}

static void refresh_begin(void) {
    if (!load.counting) {
        load.since_us = clock_mono();
        load.since_db = clock_db();
    }
    load.counting = true;
    load.offered = false;
    if (!load.reading) {
        refresh_leases();
        return;
    }
    load.again = true;
    lease_load_invalidate();
    recount_invalidate();
}

void bootstrap_tick(void) {
    if (!takes_must_wait())
        waiters_expect(WAITERS_SCANS, false);
    if (load.offered || bootstrap_counters() == COUNTERS_AWAITED)
        return;
    load.offered = true;
    load.hooks.offer_again();
}

#define LOAD_OP(id, beginner, handler) \
    OPERATION(id, .alone = true, .begin = beginner, .on_end = handler, .fail = load_fail)

LOAD_OP(load_clock, bootstrap_clock_begin, bootstrap_clock_done);
LOAD_OP(load_secret, NULL, secret_done);
LOAD_OP(prune_nodes, bootstrap_prune_begin, NULL);
LOAD_OP(register_node, register_begin, register_done);
LOAD_OP(load_nodes, NULL, nodes_done);
LOAD_OP(load_queues, NULL, queues_done);
