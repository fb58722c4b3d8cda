/* Natural batching: per operation and turn, the tasks of all clients become one statement. */
#include "batch/batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/stats.h"
#include "batch/commit_marker.h"
#include "batch/contention.h"
#include "batch/lost_txn.h"
#include "batch/repeat.h"
#include "batch/separate.h"
#include "batch/task_queue.h"
#include "batch/txn.h"
#include "config/config.h"

/* Fewer tasks than this are not divided between two transactions. */
#define SPLIT_LEAST 16

struct txn_conn {
    struct db_conn *db;
    struct txn txns[DB_MAX_TXNS]; /* a ring: sent transactions, from `oldest` on */
    size_t oldest;
    bool was_divided; /* the last transaction was that of a divided task */
    size_t lost;      /* lost transactions, whose tasks are sent again after the last one is lost, too */
};

/* CONN_WRITE waits for a still moment at most this time. It is tried again after a pause. Both times double until a moment
 * has come, because commits or answers may be slow for long. */
#define STILL_HOLD_US (250 * US_PER_MS)
#define STILL_PAUSE_US US_PER_S
#define STILL_PAUSE_MOST_US (8 * US_PER_S)
/* After this time without CONN_LONG, its reads are sent over CONN_READ. */
#define LONG_CONNECT_US (3 * US_PER_S)

/* Kinds of transactions on the write connection. They take turns, so that retries of failed tasks and ASYNC
 * adds do not delay ordinary tasks. */
enum txn_source {
    SOURCE_ORDINARY,
    SOURCE_SUSPECTS,
    SOURCE_CLIENT_TXNS,
    SOURCE_ASYNC,
    SOURCE_REPLICATED,
    SOURCE_CONTENDED,
    SOURCE_SEPARATE,
    SOURCES,
};

static struct {
    void (*plan)(void);
    struct txn_conn conns[CONN_KINDS]; /* CONN_LARGE and CONN_LONG are opened when they are needed */
    enum txn_source source;            /* kind of the last transaction on the write connection */
    enum txn_source side_source;       /* the same of the other connections */
    int64_t lacks_long_us; /* clock_mono() since which CONN_LONG is needed and not connected; 0: it is not */
} batch;

/* The still moment of batch_add_still(). First the reader and CONN_LARGE send no new transaction, then CONN_WRITE. */
static struct {
    struct task *task; /* it waits for the moment, or its snapshot is not taken; NULL: none */
    void (*on_missed)(void);
    bool sent;
    enum conn_kind reader; /* CONN_LONG, or CONN_READ */
    int64_t held_us;       /* clock_mono() since which CONN_WRITE waits; 0: it does not */
    int64_t hold_us;       /* the most time of this try */
    int64_t pause_us;      /* the next pause */
    int64_t resume_us;     /* clock_mono(): end of the pause */
} still;

static void still_end(void) {
    still.task = NULL;
}

static void still_be_quick(void) {
    still.hold_us = STILL_HOLD_US;
    still.pause_us = STILL_PAUSE_US;
}

void batch_init(struct op *const *ops, void (*plan)(void)) {
    batch.plan = plan;
    lost_txns_init();
    client_txns_init();
    task_queue_init(ops);
    contention_init(ops);
    separate_init(ops);
    batch.source = batch.side_source = SOURCE_ORDINARY;
    batch.lacks_long_us = 0;
    still_be_quick();
    still_end();
}

void batch_start(void) {
    batch.conns[CONN_WRITE].db = db_conn_new("write", CONN_WRITE);
    batch.conns[CONN_READ].db = db_conn_new("read", CONN_READ);
}

void batch_stop(void) {
    for (size_t i = 0; i < CONN_KINDS; i++) {
        struct txn_conn *conn = &batch.conns[i];

        if (conn->db == NULL)
            continue;
        /* The process ends soon, so the tasks of sent transactions are not freed. */
        for (size_t k = conn->db->sent_txns; k < DB_MAX_TXNS; k++)
            free(conn->txns[(conn->oldest + k) % DB_MAX_TXNS].tasks);
        db_conn_free(conn->db);
    }
    db_stop();
}

void batch_add(struct task *t) {
    if (t->client_txn != NULL) {
        t->client_txn->on_joined(t->client_txn);
        return;
    }
    assert(t->state == TASK_IDLE && t->rows > 0);
    t->unsettled = false;
    separate_weigh(t);
    task_queue_add(t);
}

bool batch_cancel(struct task *t) {
    if (t->state != TASK_QUEUED)
        return false;
    task_queue_remove(t);
    task_reset(t);
    return true;
}

bool batch_withdraw(struct task *t) {
    return t->client_txn == NULL && !t->is_shared && t->group_size == 0 && t->failures == 0 && t->lost == 0 &&
           batch_cancel(t);
}

bool batch_connected(enum conn_kind kind) {
    return batch.conns[kind].db != NULL && batch.conns[kind].db->state >= DB_READY;
}

bool batch_idle(void) {
    for (size_t i = 0; i < CONN_KINDS; i++)
        if (i != CONN_LONG && batch.conns[i].db != NULL && batch.conns[i].db->state == DB_BUSY)
            return false;
    return task_queue_is_empty() && !client_txns_wait();
}

/* ---- transactions in turn ---- */

static struct txn_conn *conn_of(const struct db_conn *db) {
    for (size_t i = 0; i < CONN_KINDS; i++)
        if (batch.conns[i].db == db)
            return &batch.conns[i];
    return NULL;
}

/* Appends the first suspects, at most as many as may share a statement. No other task is in this
 * transaction, because it is likely to fail. */
static void add_suspects(struct txn *txn) {
    struct list *suspects = task_queue_suspects(txn->db->kind);
    struct task *first;
    uint32_t group_size;
    struct params *p;
    struct op *op;

    if (list_empty(suspects))
        return;
    first = task_of_node(suspects->next);
    op = first->op;
    if (txn->unsettled && op->takes)
        return;
    group_size = first->group_size;
    stats.suspect_transactions++;
    txn_set_commit(txn, op->commit);
    p = txn_begin_statement(txn, op);
    for (uint32_t i = 0; i < group_size && !list_empty(suspects); i++) {
        struct task *t = task_of_node(suspects->next);

        if (t->op != op || t->group_size != group_size || (i > 0 && op->alone) ||
            !txn_statement_has_room(txn, p, t))
            break;
        txn_encode(txn, p, t, op->encode);
    }
    txn_finish_statement(txn, op, op->stmt, op->done);
}

static void add_ops(struct txn *txn, enum commit_kind kind) {
    separate_watch(txn);
    TASK_QUEUE_EACH(op)
    if (op->conn == txn->db->kind && op->commit == kind && !op->contention.on &&
        !(txn->unsettled && op->takes) && op->encode_from == NULL && !separate_is(op))
        txn_append_op(txn, op);
}

static void add_client_txns(struct txn *txn) {
    if (!txn->unsettled)
        client_txns_append(txn);
}

static void add_kind(struct txn *txn, enum commit_kind kind) {
    txn_set_commit(txn, kind);
    add_ops(txn, kind);
}

static void add_ordinary(struct txn *txn) {
    if (!txn->unsettled)
        batch.plan();
    add_kind(txn, COMMIT_ORDINARY);
}

static void add_async(struct txn *txn) {
    add_kind(txn, COMMIT_ASYNC);
}

static void add_replicated(struct txn *txn) {
    add_kind(txn, COMMIT_REPLICATED);
}

static void (*const source_builders[SOURCES])(struct txn *txn) = {
    [SOURCE_ORDINARY] = add_ordinary,       [SOURCE_ASYNC] = add_async,
    [SOURCE_REPLICATED] = add_replicated,   [SOURCE_SUSPECTS] = add_suspects,
    [SOURCE_CLIENT_TXNS] = add_client_txns, [SOURCE_CONTENDED] = contention_append,
    [SOURCE_SEPARATE] = separate_append,
};

/* The other connections have ordinary, contended and separate tasks, and suspects. */
static void build_other(struct txn *txn) {
    for (int i = 0; i < SOURCES && txn->part_count == 0; i++) {
        batch.side_source = (batch.side_source + 1) % SOURCES;
        if (batch.side_source == SOURCE_CONTENDED)
            contention_append(txn);
        else if (batch.side_source == SOURCE_SEPARATE)
            separate_append(txn);
        else if (batch.side_source == SOURCE_SUSPECTS)
            add_suspects(txn);
        else if (batch.side_source == SOURCE_ORDINARY)
            add_kind(txn, COMMIT_ORDINARY);
    }
}

/* Unsettled tasks are first in the queue of their operation. An operation with contention does not hold back
 * other tasks, because another session decides when it ends. A read does not either, because it changes
 * nothing and its connection may be down for long. An unsettled task that takes jobs holds back no task, because it
 * would hold back itself. */
static bool has_unsettled(const struct op *op) {
    const struct task *t = fair_list_is_empty(&op->queue) ? NULL : task_queue_first(op);

    return t != NULL && op->conn == CONN_WRITE && t->unsettled && !op->contention.on && !op->takes;
}

static bool op_unsettled(void) {
    TASK_QUEUE_EACH(op)
    if (has_unsettled(op))
        return true;
    return false;
}

static bool suspects_unsettled(void) {
    LIST_EACH(node, task_queue_suspects(CONN_WRITE))
        if (task_of_node(node)->unsettled)
            return true;
    return false;
}

/* Kinds with no queued tasks lose their turn. Tasks of lost transactions are sent before all others. Between
 * a change that may have been committed and its repetition, no job is taken. */
static void build(struct txn *txn) {
    txn_clear_parts(txn);
    if (txn->db->kind != CONN_WRITE) {
        build_other(txn);
        return;
    }
    if (suspects_unsettled()) {
        add_suspects(txn);
        return;
    }
    txn->unsettled = lost_txns_asked() > 0 || op_unsettled();
    for (int i = 0; i < SOURCES && txn->part_count == 0; i++) {
        batch.source = (batch.source + 1) % SOURCES;
        source_builders[batch.source](txn);
    }
}

static void on_completed(struct db_conn *db, const struct db_result *result);

static void send_sync(struct txn *txn) {
    txn->sent_us = clock_mono();
    db_send(txn->db, on_completed);
}

static void send_txn(struct txn *txn) {
    txn_finish(txn);
    send_sync(txn);
}

static size_t splittable_waiting(const struct db_conn *db) {
    size_t count = 0;

    TASK_QUEUE_EACH(op)
    if (op->conn == db->kind && op->splittable && !op->contention.on)
        count += op->queued;
    return count;
}

/* A second transaction is sent if it has at least as many tasks as the first. */
static bool is_worth_it(const struct txn_conn *conn, const struct txn *other, size_t waiting) {
    if (waiting + other->splittable_count > 0)
        return waiting >= other->splittable_count;
    return task_queue_count(conn->db->kind) >= other->task_count;
}

/* If two transactions are sent, the database executes the second while this server reads the results of the
 * first. That pays if both have about the same size. So the next transaction takes half of all queued and
 * sent tasks that may be divided. */
static bool split_load(const struct txn_conn *conn, struct txn *txn) {
    const struct txn *other = txn->db->sent_txns > 0 ? &conn->txns[conn->oldest] : NULL;
    size_t sent_txns = other == NULL ? 0 : other->splittable_count;
    size_t waiting = splittable_waiting(txn->db);

    txn->quota = txn->of = 1;
    txn->splittable_count = 0;
    if (other != NULL && !is_worth_it(conn, other, waiting))
        return false;
    if (waiting > sent_txns && waiting + sent_txns >= SPLIT_LEAST) {
        /* If the number is odd, the second transaction takes the larger half. */
        txn->quota = (waiting + sent_txns + (other != NULL)) / 2;
        txn->of = waiting;
    }
    return true;
}

/* ---- divided tasks ---- */

static void encode_part(struct txn *txn, struct task *t) {
    struct params *p = db_params(txn->db);
    size_t from = txn->next_row;

    txn->next_row = t->op->encode_from(p, t, from);
    p->rows = txn->next_row - from;
}

static void send_part(struct txn *txn, const struct task *t) {
    if (txn->next_row < t->rows)
        db_send_part(txn->db, on_completed);
    else
        send_sync(txn);
}

/* The commit marker follows the first statement, because the number of the marker is that of this turn. A failure of a
 * later statement counts as one of the commit. */
static void begin_divided(struct txn *txn, struct task *t) {
    txn_clear_parts(txn);
    txn_set_commit(txn, t->op->commit);
    (void)txn_begin_statement(txn, t->op);
    t->first_row = txn->next_row = 0;
    encode_part(txn, t);
    txn_append_task(txn, t);
    txn_finish_statement(txn, t->op, t->op->stmt, t->op->done);
    txn_finish(txn);
    send_part(txn, t);
}

static void continue_divided(struct txn *txn) {
    struct task *t = txn->tasks[0];

    if (!db_takes_part(txn->db))
        return;
    encode_part(txn, t);
    stats.rows += db_params(txn->db)->rows;
    db_statement(txn->db, t->op->stmt);
    send_part(txn, t);
}

static struct task *divided_task(const struct txn_conn *conn) {
    TASK_QUEUE_EACH(op)
    if (op->conn == conn->db->kind && op->encode_from != NULL && !op->contention.on)
        return task_queue_first(op);
    return NULL;
}

static bool others_wait(const struct txn_conn *conn, const struct op *op) {
    return task_queue_count(conn->db->kind) > op->queued || !list_empty(task_queue_suspects(conn->db->kind));
}

/* True if the connection is for a divided task now. Such tasks and others take turns. */
static bool flush_divided(struct txn_conn *conn) {
    struct task *t = divided_task(conn);

    if (t == NULL || (conn->was_divided && others_wait(conn, t->op))) {
        conn->was_divided = false;
        return false;
    }
    if (conn->db->sent_txns == 0 && db_has_room(conn->db)) {
        conn->was_divided = true;
        conn->txns[conn->oldest].db = conn->db;
        begin_divided(&conn->txns[conn->oldest], t);
    }
    return true;
}

bool batch_pending(void) {
    const struct db_conn *db = batch.conns[CONN_LARGE].db;

    return db != NULL && db_takes_part(db);
}

/* ---- a still moment ---- */

void batch_add_still(struct task *t, void (*on_missed)(void)) {
    assert(still.task == NULL && t->state == TASK_IDLE);
    fair_node_init(&t->turn);
    t->state = TASK_QUEUED;
    still.task = t;
    still.on_missed = on_missed;
    still.sent = false;
    still.held_us = still.resume_us = 0;
}

static void still_be_slower(void) {
    if (still.pause_us >= STILL_PAUSE_MOST_US)
        return;
    still.hold_us *= 2;
    still.pause_us *= 2;
}

static void on_snapshot_taken(void) {
    still_be_quick();
    still_end();
}

static bool sends_nothing(enum conn_kind kind) {
    return batch.conns[kind].db == NULL || batch.conns[kind].db->sent_txns == 0;
}

/* True if all lost tasks have ended, or are queued as if they had not been sent. */
static bool losses_are_settled(void) {
    return batch_connected(CONN_WRITE) && !commit_markers_are_asked() && !op_unsettled() &&
           !suspects_unsettled();
}

/* True if only CONN_WRITE must still end its transactions. */
static bool still_may_come(void) {
    const struct db_conn *reader = batch.conns[still.reader].db;

    return reader != NULL && db_has_room(reader) && sends_nothing(still.reader) &&
           sends_nothing(CONN_LARGE) && losses_are_settled();
}

static void still_pause(void) {
    still.held_us = 0;
    still.resume_us = clock_mono() + still.pause_us;
    still_be_slower();
}

/* CONN_LONG has not answered. */
static void still_look_for_snapshot(void) {
    if (still.reader == CONN_READ || clock_mono() - still.held_us <= still.hold_us)
        return;
    still_be_slower();
    still_end();
    still.on_missed();
}

/* Begins to hold CONN_WRITE, or ends that. */
static void still_look(void) {
    if (still.task == NULL)
        return;
    if (still.sent) {
        still_look_for_snapshot();
        return;
    }
    still.reader = batch_lacks_long_reads() ? CONN_READ : CONN_LONG;
    if (still.held_us != 0 && (!still_may_come() || clock_mono() - still.held_us > still.hold_us))
        still_pause();
    else if (still.held_us == 0 && clock_mono() >= still.resume_us && still_may_come())
        still.held_us = clock_mono();
}

/* True if the connection must not begin a transaction now. */
static bool still_holds(enum conn_kind kind) {
    if (still.task == NULL || clock_mono() < still.resume_us || !batch_connected(still.reader))
        return false;
    if (kind == CONN_WRITE)
        return still.held_us != 0;
    return kind == CONN_LARGE || kind == still.reader;
}

static void still_send(void) {
    struct txn_conn *conn = &batch.conns[still.reader];
    struct txn *txn = &conn->txns[conn->oldest];

    still.sent = true;
    txn->db = conn->db;
    txn_clear_parts(txn);
    if (still.reader == CONN_LONG)
        db_snapshot(conn->db, on_snapshot_taken);
    txn_append_statement(txn, still.task->op, NULL, &still.task, 1);
    send_txn(txn);
}

static void still_flush(void) {
    still_look();
    if (still.task != NULL && !still.sent && still.held_us != 0 && sends_nothing(CONN_WRITE))
        still_send();
}

/* The snapshot of a transaction that failed or was lost may not have been taken. */
static void still_note_end(const struct txn *txn) {
    if (still.task != NULL && still.sent && txn->db->kind == still.reader)
        still_end();
}

/* ---- flushing ---- */

static void conn_flush(struct txn_conn *conn) {
    if (conn->db->open) {
        continue_divided(&conn->txns[conn->oldest]);
        return;
    }
    if (still_holds(conn->db->kind) || (conn->db->kind == CONN_LARGE && flush_divided(conn)))
        return;
    while (db_has_room(conn->db)) {
        struct txn *txn = &conn->txns[(conn->oldest + conn->db->sent_txns) % DB_MAX_TXNS];

        txn->db = conn->db;
        if (!split_load(conn, txn))
            return;
        build(txn);
        if (txn->part_count == 0)
            return;
        send_txn(txn);
    }
}

static bool needs_long_reads(void) {
    return task_queue_first_heavy(CONN_READ) != NULL || still.task != NULL;
}

/* Opens the connections for large requests and for long reads when the first of them is queued. Most servers never need
 * them. */
static void open_others(void) {
    struct txn_conn *large = &batch.conns[CONN_LARGE], *reads = &batch.conns[CONN_LONG];

    if (large->db == NULL && task_queue_count(CONN_LARGE) > 0 && batch_connected(CONN_WRITE))
        large->db = db_conn_new("large", CONN_LARGE);
    if (reads->db == NULL && needs_long_reads() && batch_connected(CONN_READ))
        reads->db = db_conn_new("long", CONN_LONG);
    if (batch_connected(CONN_LONG) || !batch_connected(CONN_READ))
        batch.lacks_long_us = 0;
    else if (needs_long_reads() && batch.lacks_long_us == 0)
        batch.lacks_long_us = clock_mono();
}

bool batch_lacks_long_reads(void) {
    return batch.lacks_long_us != 0 && clock_mono() - batch.lacks_long_us > LONG_CONNECT_US;
}

void batch_flush(void) {
    task_queue_fail_too_large();
    open_others();
    still_flush();
    for (size_t i = 0; i < CONN_KINDS; i++)
        if (batch.conns[i].db != NULL)
            conn_flush(&batch.conns[i]);
}

/* ---- results ---- */

void task_free(struct task *t, const PGresult *rows) {
    (void)rows;
    free(t);
}

void task_free_failed(struct task *t, const struct op_error *err) {
    (void)err;
    free(t);
}

static void batch_committed(struct txn *txn, const struct db_result *result) {
    if (txn->is_client_txn) {
        client_txns_committed(txn, result->rows);
        return;
    }
    for (size_t i = 0; i < txn->part_count && !txn->checks; i++)
        txn_end_part(&txn->parts[i], result->rows[i]);
    if (txn->contended != NULL)
        contention_committed(txn, result->rows);
}

/* All sent transactions are lost together. The oldest is reported first, but its tasks must stand first in
 * the queue. So after the last report, the newest transaction is handled first. */
static void lost(struct txn_conn *conn) {
    if (conn->db->sent_txns > 0) {
        conn->lost++;
        return;
    }
    for (size_t n = 0; n <= conn->lost; n++) {
        struct txn *txn = &conn->txns[(conn->oldest + DB_MAX_TXNS - 1 - n) % DB_MAX_TXNS];

        txn_lost(txn);
    }
    conn->lost = 0;
}

/* If the commit or its marker failed, and not a statement of the tasks, all tasks become suspects. */
static void txn_failed(struct txn *txn, const struct db_result *result) {
    bool at_commit = result->failed_at >= txn->part_count;
    bool at_marker = txn->marked && result->failed_at == txn->part_count;

    if (txn->is_client_txn) {
        client_txns_failed(txn, &result->error);
        return;
    }
    if (contention_is(result->error.sqlstate) && (at_marker || !at_commit)) {
        contention_failed(txn, result->failed_at);
        return;
    }
    for (size_t i = txn->part_count; i-- > 0;) {
        struct part *part = &txn->parts[i];
        bool statement_failed = at_commit || i == result->failed_at;
        size_t group_size = part->count > 1 || !at_commit ? part->count : txn->part_count;

        if (i == result->failed_at && !repeat_is_transient(result->error.sqlstate))
            separate_note_failure(part->op);
        for (size_t k = part->count; k-- > 0;) {
            if (statement_failed)
                repeat_or_fail(part->tasks[k], group_size, &result->error);
            else
                repeat_send(part->tasks[k], false);
        }
    }
}

static bool is_lost_with(const struct db_result *result, const char *sqlstate) {
    return result->outcome == DB_LOST && strcmp(result->error.sqlstate, sqlstate) == 0;
}

static void on_completed(struct db_conn *db, const struct db_result *result) {
    struct txn_conn *conn = conn_of(db);
    struct txn *txn = &conn->txns[conn->oldest];

    conn->oldest = (conn->oldest + 1) % DB_MAX_TXNS;
    still_note_end(txn);
    txn->at_work = result->at_work;
    txn->disk_full = is_lost_with(result, OP_DISK_FULL);
    txn->exceeded = result->outcome == DB_LOST ? result->exceeded : NULL;
    if (txn->marked && result->outcome != DB_LOST)
        commit_marker_end(&txn->marker);
    if (txn->is_client_txn)
        client_txns_note_time(txn);
    separate_note_times(txn, result);
    if (result->outcome == DB_COMMITTED) {
        histogram_add(&stats_commits, clock_mono() - txn->sent_us);
        batch_committed(txn, result);
    } else if (result->outcome == DB_FAILED) {
        txn_failed(txn, result);
    } else {
        lost(conn);
    }
}
