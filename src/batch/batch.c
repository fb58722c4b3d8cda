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

struct conn {
    struct db_conn *db;
    struct txn txns[DB_MAX_TXNS]; /* a ring: sent transactions, from `oldest` on */
    size_t oldest;
    bool was_divided; /* the last transaction was that of a divided task */
    size_t lost;      /* lost transactions, whose tasks are sent again after the last one is lost, too */
};

/* Kinds of transactions on the write connection. They take turns, so that retries of failed tasks and ASYNC
 * adds do not delay ordinary tasks. */
enum turn {
    TURN_ORDINARY,
    TURN_SUSPECTS,
    TURN_CLIENT_TXNS,
    TURN_ASYNC,
    TURN_REPLICATED,
    TURN_CONTENDED,
    TURN_SEPARATE,
    TURNS,
};

static struct {
    void (*plan)(void);
    struct conn conns[CONN_KINDS]; /* CONN_LARGE is opened when it is needed */
    enum turn turn;                /* kind of the last transaction on the write connection */
    enum turn side_turn;           /* the same of the other connections */
} batch;

void batch_init(struct op *const *ops, void (*plan)(void)) {
    batch.plan = plan;
    lost_txns_init();
    client_txns_init();
    task_queue_init(ops);
    contention_init(ops);
    separate_init(ops);
    batch.turn = batch.side_turn = TURN_ORDINARY;
}

void batch_start(void) {
    batch.conns[CONN_WRITE].db = db_conn_new("write", CONN_WRITE);
    batch.conns[CONN_READ].db = db_conn_new("read", CONN_READ);
}

void batch_stop(void) {
    for (size_t i = 0; i < CONN_KINDS; i++) {
        struct conn *conn = &batch.conns[i];

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
    return t->client_txn == NULL && t->group_size == 0 && t->failures == 0 && t->lost == 0 && batch_cancel(t);
}

bool batch_connected(enum conn_kind kind) {
    return batch.conns[kind].db->state >= DB_READY;
}

bool batch_idle(void) {
    for (size_t i = 0; i < CONN_KINDS; i++)
        if (batch.conns[i].db != NULL && batch.conns[i].db->state == DB_BUSY)
            return false;
    return task_queue_is_empty() && !client_txns_wait();
}

/* ---- transactions in turn ---- */

static struct conn *conn_of(const struct db_conn *db) {
    for (size_t i = 0; i < CONN_KINDS; i++)
        if (batch.conns[i].db == db)
            return &batch.conns[i];
    return NULL;
}

/* Appends the first suspects, at most as many as may share a statement. No other task is in this
 * transaction, because it is likely to fail. */
static void add_suspects(struct txn *f) {
    struct list *suspects = task_queue_suspects();
    struct task *first = LIST_ENTRY(suspects->next, struct task, node);
    struct op *op = first->op;
    uint32_t group_size = first->group_size;
    struct params *p;

    stats.suspect_transactions++;
    db_begin(f->db, txn_durability(op->commit));
    p = txn_begin_statement(f, op);
    for (uint32_t i = 0; i < group_size && !list_empty(suspects); i++) {
        struct task *t = LIST_ENTRY(suspects->next, struct task, node);

        if (t->op != op || t->group_size != group_size || (i > 0 && op->alone) ||
            !txn_statement_has_room(f, p, t))
            break;
        txn_encode(f, p, t, op->encode);
    }
    txn_finish_statement(f, op, op->stmt, op->done);
}

static void add_ops(struct txn *f, enum commit_kind kind) {
    separate_watch(f);
    TASK_QUEUE_EACH(op)
    if (op->conn == f->db->kind && op->commit == kind && !op->contention.on && !(f->unsettled && op->takes) &&
        op->encode_from == NULL && !separate_is(op))
        txn_append_op(f, op);
}

static void add_those_of(enum turn turn, struct txn *f) {
    static const enum commit_kind kinds[] = {
        [TURN_ORDINARY] = COMMIT_ORDINARY,
        [TURN_ASYNC] = COMMIT_ASYNC,
        [TURN_REPLICATED] = COMMIT_REPLICATED,
    };

    if (turn == TURN_SUSPECTS) {
        if (!list_empty(task_queue_suspects()))
            add_suspects(f);
        return;
    }
    if (turn == TURN_CLIENT_TXNS) {
        if (!f->unsettled)
            client_txns_append(f);
        return;
    }
    if (turn == TURN_CONTENDED) {
        contention_append(f);
        return;
    }
    if (turn == TURN_SEPARATE) {
        separate_append(f);
        return;
    }
    if (turn == TURN_ORDINARY && !f->unsettled)
        batch.plan();
    db_begin(f->db, txn_durability(kinds[turn]));
    add_ops(f, kinds[turn]);
}

/* The same on the other connections. */
static void build_other(struct txn *f) {
    for (int i = 0; i < TURNS && f->part_count == 0; i++) {
        batch.side_turn = (batch.side_turn + 1) % TURNS;
        if (batch.side_turn == TURN_CONTENDED)
            contention_append(f);
        else if (batch.side_turn == TURN_SEPARATE)
            separate_append(f);
        else if (batch.side_turn == TURN_ORDINARY)
            add_ops(f, COMMIT_ORDINARY);
    }
}

/* Unsettled tasks are first in the queue of their operation. An operation with contention does not hold back
 * other tasks, because another session decides when it ends. A read does not either, because it changes
 * nothing and its connection may be down for long. An unsettled task that takes jobs holds back no task, because it
 * would hold back itself. */
static bool has_unsettled(const struct op *op) {
    const struct task *t = list_empty(&op->queue) ? NULL : LIST_ENTRY(op->queue.next, struct task, node);

    return t != NULL && op->conn == CONN_WRITE && t->unsettled && !op->contention.on && !op->takes;
}

static bool op_unsettled(void) {
    TASK_QUEUE_EACH(op)
    if (has_unsettled(op))
        return true;
    return false;
}

static bool suspects_unsettled(void) {
    LIST_EACH(node, task_queue_suspects())
        if (LIST_ENTRY(node, struct task, node)->unsettled)
            return true;
    return false;
}

/* Kinds with no queued tasks lose their turn. Tasks of lost transactions are sent before all others. Between
 * a change that may have been committed and its repetition, no job is taken. */
static void build(struct txn *f) {
    txn_clear_parts(f);
    if (f->db->kind != CONN_WRITE) {
        build_other(f);
        return;
    }
    if (suspects_unsettled()) {
        add_suspects(f);
        return;
    }
    f->unsettled = lost_txns_asked() > 0 || op_unsettled();
    for (int i = 0; i < TURNS && f->part_count == 0; i++) {
        batch.turn = (batch.turn + 1) % TURNS;
        add_those_of(batch.turn, f);
    }
}

static void on_completed(struct db_conn *db, const struct db_result *result);

static void send_sync(struct txn *f) {
    f->sent_us = clock_mono();
    db_send(f->db, on_completed);
}

static void send_txn(struct txn *f) {
    txn_finish(f);
    send_sync(f);
}

static size_t splittable_waiting(const struct db_conn *db) {
    size_t count = 0;

    TASK_QUEUE_EACH(op)
    if (op->conn == db->kind && op->splittable && !op->contention.on)
        count += op->queued;
    return count;
}

/* A second transaction is sent if it has at least as many tasks as the first. */
static bool is_worth_it(const struct conn *conn, const struct txn *other, size_t waiting) {
    if (waiting + other->splittable_count > 0)
        return waiting >= other->splittable_count;
    return task_queue_count(conn->db->kind) >= other->task_count;
}

/* If two transactions are sent, the database executes the second while this server reads the results of the
 * first. That pays if both have about the same size. So the next transaction takes half of all queued and
 * sent tasks that may be divided. */
static bool split_load(const struct conn *conn, struct txn *f) {
    const struct txn *other = f->db->sent_txns > 0 ? &conn->txns[conn->oldest] : NULL;
    size_t sent_txns = other == NULL ? 0 : other->splittable_count;
    size_t waiting = splittable_waiting(f->db);

    f->quota = f->of = 1;
    f->splittable_count = 0;
    if (other != NULL && !is_worth_it(conn, other, waiting))
        return false;
    if (waiting > sent_txns && waiting + sent_txns >= SPLIT_LEAST) {
        /* If the number is odd, the second transaction takes the larger half. */
        f->quota = (waiting + sent_txns + (other != NULL)) / 2;
        f->of = waiting;
    }
    return true;
}

/* ---- divided tasks ---- */

static void encode_part(struct txn *f, struct task *t) {
    struct params *p = db_params(f->db);
    size_t from = f->next_row;

    f->next_row = t->op->encode_from(p, t, from);
    p->rows = f->next_row - from;
}

static void send_part(struct txn *f, const struct task *t) {
    if (f->next_row < t->rows)
        db_send_part(f->db, on_completed);
    else
        send_sync(f);
}

/* The commit marker follows the first statement, because the number of the marker is that of this turn. A failure of a
 * later statement counts as one of the commit. */
static void begin_divided(struct txn *f, struct task *t) {
    txn_clear_parts(f);
    (void)txn_begin_statement(f, t->op);
    t->first_row = f->next_row = 0;
    encode_part(f, t);
    txn_append_task(f, t);
    txn_finish_statement(f, t->op, t->op->stmt, t->op->done);
    txn_finish(f);
    send_part(f, t);
}

static void continue_divided(struct txn *f) {
    struct task *t = f->tasks[0];

    if (!db_takes_part(f->db))
        return;
    encode_part(f, t);
    stats.rows += db_params(f->db)->rows;
    db_statement(f->db, t->op->stmt);
    send_part(f, t);
}

static struct task *divided_task(const struct conn *conn) {
    TASK_QUEUE_EACH(op)
    if (op->conn == conn->db->kind && op->encode_from != NULL && !op->contention.on)
        return task_queue_first(op);
    return NULL;
}

/* True if the connection is for a divided task now. Such tasks and others take turns. */
static bool flush_divided(struct conn *conn) {
    struct task *t;

    if (conn->db->open) {
        continue_divided(&conn->txns[conn->oldest]);
        return true;
    }
    t = divided_task(conn);
    if (t == NULL || (conn->was_divided && task_queue_count(conn->db->kind) > t->op->queued)) {
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

static void conn_flush(struct conn *conn) {
    if (conn->db->kind == CONN_LARGE && flush_divided(conn))
        return;
    while (db_has_room(conn->db)) {
        struct txn *f = &conn->txns[(conn->oldest + conn->db->sent_txns) % DB_MAX_TXNS];

        f->db = conn->db;
        if (!split_load(conn, f))
            return;
        build(f);
        if (f->part_count == 0)
            return;
        send_txn(f);
    }
}

/* Opens the connection for large requests when the first one is queued. Most servers never need it. */
static void open_large(void) {
    struct conn *conn = &batch.conns[CONN_LARGE];

    if (conn->db == NULL && task_queue_count(CONN_LARGE) > 0 && batch_connected(CONN_WRITE))
        conn->db = db_conn_new("large", CONN_LARGE);
}

void batch_flush(void) {
    task_queue_fail_too_large();
    open_large();
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

static void batch_committed(struct txn *f, const struct db_result *result) {
    if (f->is_client_txn) {
        client_txns_committed(f, result->rows);
        return;
    }
    for (size_t i = 0; i < f->part_count && !f->checks; i++)
        txn_end_part(&f->parts[i], result->rows[i]);
    if (f->contended != NULL)
        contention_committed(f, result->rows);
}

/* All sent transactions are lost together. The oldest is reported first, but its tasks must stand first in
 * the queue. So after the last report, the newest transaction is handled first. */
static void lost(struct conn *conn) {
    if (conn->db->sent_txns > 0) {
        conn->lost++;
        return;
    }
    for (size_t n = 0; n <= conn->lost; n++) {
        struct txn *f = &conn->txns[(conn->oldest + DB_MAX_TXNS - 1 - n) % DB_MAX_TXNS];

        txn_lost(f);
    }
    conn->lost = 0;
}

/* If the commit or its marker failed, and not a statement of the tasks, all tasks become suspects. */
static void txn_failed(struct txn *f, const struct db_result *result) {
    bool at_commit = result->failed_at >= f->part_count;
    bool at_marker = f->marked && result->failed_at == f->part_count;

    if (f->is_client_txn) {
        client_txns_failed(f, &result->error);
        return;
    }
    if (contention_is(result->error.sqlstate) && (at_marker || !at_commit)) {
        contention_failed(f, result->failed_at);
        return;
    }
    for (size_t i = f->part_count; i-- > 0;) {
        struct part *part = &f->parts[i];
        bool statement_failed = at_commit || i == result->failed_at;
        size_t group_size = part->count > 1 || !at_commit ? part->count : f->part_count;

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
    struct conn *conn = conn_of(db);
    struct txn *f = &conn->txns[conn->oldest];

    conn->oldest = (conn->oldest + 1) % DB_MAX_TXNS;
    f->at_work = result->at_work;
    f->disk_full = is_lost_with(result, OP_DISK_FULL);
    f->exceeded = result->outcome == DB_LOST ? result->exceeded : NULL;
    if (f->marked && result->outcome != DB_LOST)
        commit_marker_end(&f->marker);
    if (f->is_client_txn)
        client_txns_note_time(f);
    separate_note_times(f, result);
    if (result->outcome == DB_COMMITTED) {
        histogram_add(&stats_commits, clock_mono() - f->sent_us);
        batch_committed(f, result);
    } else if (result->outcome == DB_FAILED) {
        txn_failed(f, result);
    } else {
        lost(conn);
    }
}
