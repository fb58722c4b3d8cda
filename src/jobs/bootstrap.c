/* Loads the state of the database, at start and after a lost connection. */
#include "jobs/bootstrap.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/job_key.h"
#include "base/log.h"
#include "base/node.h"
#include "base/saturate.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "config/config.h"
#include "jobs/dead_letter.h"
#include "jobs/expire.h"
#include "jobs/undelivered.h"
#include "net/sockets.h"
#include "queue/lease.h"
#include "queue/queue.h"
#include "queue/queue_ready.h"
#include "queue/settings.h"

static struct {
    struct task clock;
    struct task secret;
    struct task prune;
    struct task node;
    struct task nodes;
    struct task queues;
    struct task leases;
    struct task counts;
    struct task dead;
    int64_t clock_asked; /* clock_mono_now() */
    bool only_look;      /* --check */
    bool loaded;
    bool failed;
    bool lost; /* transactions were lost since the leases were read */
    void (*on_loaded)(void);
    void (*on_reloaded)(void);
} load = {
    .clock = { .op = &op_load_clock, .rows = 1 },
    .secret = { .op = &op_load_secret, .rows = 1 },
    .prune = { .op = &op_prune_nodes, .rows = 1 },
    .node = { .op = &op_register_node, .rows = 1 },
    .nodes = { .op = &op_load_nodes, .rows = 1 },
    .queues = { .op = &op_load_queues, .rows = 1 },
    .leases = { .op = &op_load_leases, .rows = 1 },
    .counts = { .op = &op_load_counts, .rows = 1 },
    .dead = { .op = &op_load_dead, .rows = 1 },
};

void bootstrap_hooks(void (*on_loaded)(void), void (*on_reloaded)(void)) {
    load.on_loaded = on_loaded;
    load.on_reloaded = on_reloaded;
}

bool bootstrap_is_under_way(void) {
    return !load.loaded;
}

void bootstrap_only_read(void) {
    load.only_look = true;
}

static void ask_for_jobs(void) {
    batch_add_idle(&load.leases);
    batch_add_idle(&load.dead);
    batch_add_idle(&load.counts);
}

/* The clock is read first, in transactions of its own, because its error is the duration of the transaction. Leases
 * given by a late clock end too soon after it is corrected. */
static void bootstrap_send(void) {
    if (load.loaded)
        ask_for_jobs();
    else
        batch_add_idle(&load.clock);
}

void bootstrap_start(void) {
    load.lost = load.loaded;
    bootstrap_send();
}

void bootstrap_again(void) {
    bootstrap_send();
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
    bootstrap_send();
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
    ask_for_jobs();
}

static void bootstrap_clock_done(struct task *t, const PGresult *rows) {
    (void)t;
    if (load.loaded)
        return;
    if (!clock_sync_first(row_time(rows, 0, COL_CLOCK_NOW), load.clock_asked, clock_mono_now())) {
        batch_add_idle(&load.clock);
    } else if (load.only_look) {
        batch_add_idle(&load.queues);
        batch_add_idle(&load.counts);
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
}

static void queues_done(struct task *t, const PGresult *rows) {
    (void)t;
    for (int i = 0; i < PQntuples(rows); i++)
        load_queue(rows, i);
}

/* ---- leases and counts ---- */

static void now_begin(struct params *p) {
    params_set_time(p, 0, clock_db());
}

/* This server does not know a lease of its own. If transactions were lost, one of them gave the lease and no client
 * has the job. Otherwise the lease had ended by a clock that was set back since. */
static void load_own_lease(struct job_key key, int64_t until) {
    bool stray = !lease_known(key.id);

    lease_add(key, until);
    if (stray && load.lost)
        undelivered_release(key, until, false);
}

/* A lease without an end looks the same whether the job was delivered or not, so at-most-once jobs are left alone.
 * Live servers watch their own leases. */
static void load_lease(struct job_key key, int64_t until, uint16_t owner) {
    const struct node *n = node_by_number(owner);

    if (until == TIME_NEVER)
        return;
    if (owner == node_self()->number)
        load_own_lease(key, until);
    else if (owner == 0 ? node_is_leader() : n == NULL || !n->live)
        lease_add_foreign(key, until, owner);
}

/* The names of workers are in memory only while a server runs. */
static void load_holder(struct job_key key, const PGresult *rows, int row) {
    struct slice name = row_bytes_or_null(rows, row, COL_LOAD_LEASES_WORKER);

    if (name.ptr != NULL)
        lease_set_holder(key.id, (struct lease_holder){ worker_label_of(name), 0 });
}

static void leases_done(struct task *t, const PGresult *rows) {
    (void)t;
    lease_review_begin();
    for (int i = 0; i < PQntuples(rows); i++) {
        struct job_key key = row_full_key(rows, i, COL_LOAD_LEASES_QUEUE_ID);
        int64_t until = row_time(rows, i, COL_LOAD_LEASES_READY_AT);
        bool last = row_bool(rows, i, COL_LOAD_LEASES_LAST);

        if (last && until <= clock_db()) {
            dead_letter_job(key, NULL, NULL);
            continue;
        }
        load_lease(key, until, (uint16_t)row_int2(rows, i, COL_LOAD_LEASES_OWNER));
        load_holder(key, rows, i);
        if (last)
            lease_set_last(key.id);
    }
    lease_review_end();
    load.lost = false;
}

/* Later jobs of this server have newer ids. It may make more ids in this millisecond. */
static int64_t id_before_now(void) {
    return job_id_at(clock_db() - US_PER_MS);
}

/* A queue without counts has no jobs. Later jobs have newer ids, or are announced by their keys. */
static void forget_counts(void) {
    struct job_key now = { .rank = 0, .id = id_before_now() };

    QUEUE_EACH(q) {
        queue_set_counts(q, 0, 0);
        queue_set_states(q, 0, 0);
        queue_scan_after(q, now);
    }
}

static void load_count(const PGresult *rows, int row) {
    struct queue *q = queue_find_id(row_int4(rows, row, COL_LOAD_COUNTS_QUEUE_ID));

    if (q == NULL) {
        log_warning("load", "there are jobs of queue number %d, which has no row in pgdisque.queue",
                    row_int4(rows, row, COL_LOAD_COUNTS_QUEUE_ID));
        return;
    }
    queue_set_counts(q, row_int8(rows, row, COL_LOAD_COUNTS_QUEUED),
                     row_int8(rows, row, COL_LOAD_COUNTS_JOBS));
    queue_set_states(q, row_int8(rows, row, COL_LOAD_COUNTS_DELAYED),
                     row_int8(rows, row, COL_LOAD_COUNTS_WAITING));
    q->swept_id = row_null(rows, row, COL_LOAD_COUNTS_OLDEST_ID)
                      ? id_before_now()
                      : int64_minus(row_int8(rows, row, COL_LOAD_COUNTS_OLDEST_ID), 1);
    if (q->counters.len > 0)
        queue_show(q);
    /* The scan does not begin at the first key of the queue, where millions of dead rows may be. */
    if (q->counters.len > 0)
        queue_scan_after(q,
                         (struct job_key){ q->id, row_int2(rows, row, COL_LOAD_COUNTS_FIRST_RANK),
                                           int64_minus(row_int8(rows, row, COL_LOAD_COUNTS_FIRST_ID), 1) });
    if (q->counters.len > 0)
        queue_set_oldest(q, job_created_us(row_int8(rows, row, COL_LOAD_COUNTS_FIRST_ID)));
}

/* Must run before the counts, which end the load. */
static void bootstrap_dead_done(struct task *t, const PGresult *rows) {
    (void)t;
    QUEUE_EACH(q)
    queue_set_dead(q, 0);
    for (int i = 0; i < PQntuples(rows); i++) {
        struct queue *q = queue_find_id(row_int4(rows, i, COL_LOAD_DEAD_QUEUE_ID));

        if (q != NULL)
            queue_set_dead(q, row_int8(rows, i, COL_LOAD_DEAD_DEAD));
    }
}

static void counts_done(struct task *t, const PGresult *rows) {
    (void)t;
    if (load.failed)
        return;
    forget_counts();
    for (int i = 0; i < PQntuples(rows); i++)
        load_count(rows, i);
    expire_reset_scan();
    if (load.loaded) {
        load.on_reloaded();
        return;
    }
    load.loaded = true;
    if (!load.only_look)
        log_notice("load", "queues: %zu, jobs: %lld, leases: %zu; this is node %u, %s", queue_count(),
                   (long long)queue_jobs_total(), lease_count(), node_self()->number, node_self()->id);
    load.on_loaded();
}

#define LOAD_OP(id, beginner, handler) \
    OPERATION(id, .alone = true, .begin = beginner, .on_end = handler, .fail = load_fail)

LOAD_OP(load_clock, bootstrap_clock_begin, bootstrap_clock_done);
LOAD_OP(load_secret, NULL, secret_done);
LOAD_OP(prune_nodes, bootstrap_prune_begin, NULL);
LOAD_OP(register_node, register_begin, register_done);
LOAD_OP(load_nodes, NULL, nodes_done);
LOAD_OP(load_queues, NULL, queues_done);
LOAD_OP(load_leases, now_begin, leases_done);
LOAD_OP(load_dead, NULL, bootstrap_dead_done);
LOAD_OP(load_counts, now_begin, counts_done);
