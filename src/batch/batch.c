/* Natural batching: per operation and turn, the tasks of all clients become one statement. */
#include "batch/batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "batch/commit_marker.h"
#include "batch/contention.h"
#include "batch/lost_txn.h"
#include "batch/txn.h"
#include "config/config.h"

/* Most operations that there may be. */
#define OPS_MOST 192
/* How often a task is tried that fails for a transient reason, such as a deadlock or a cancelled statement. */
#define MAX_TRANSIENT_FAILURES 5
#define ALONE_MOST 16
/* With more kinds of tasks than this in a transaction, the general statement is cheaper. */
#define ALIKE_MOST 3
/* Fewer tasks than this are not divided between two transactions. */
#define SPLIT_LEAST 16

struct conn {
    struct db_conn *db;
    size_t queued;                /* queued tasks of its operations */
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
    TURNS,
};

static struct {
    struct op *const *ops;
    uint64_t filled[OPS_MOST / 64]; /* a bit per operation: set if its queue has tasks */
    void (*plan)(void);
    struct conn conns[CONN_KINDS]; /* CONN_LARGE is opened when it is needed */
    struct list suspects;  /* tasks of failed and lost transactions, sent in smaller and smaller groups */
    struct list too_large; /* tasks that are too large to be sent; they fail at the end of the turn */
    enum turn turn;        /* kind of the last transaction on the write connection */
    bool side_contended;   /* the last transaction on another connection was for a contended operation */
} batch;

void batch_init(struct op *const *ops, void (*plan)(void)) {
    batch.ops = ops;
    batch.plan = plan;
    list_init(&batch.suspects);
    list_init(&batch.too_large);
    lost_txns_init();
    client_txns_init();
    memset(batch.filled, 0, sizeof batch.filled);
    for (size_t i = 0; ops[i] != NULL; i++) {
        assert(i < OPS_MOST);
        list_init(&ops[i]->queue);
        ops[i]->queued = 0;
        ops[i]->place = (uint16_t)i;
    }
    contention_init(ops);
    batch.turn = TURN_ORDINARY;
    for (size_t i = 0; i < CONN_KINDS; i++)
        batch.conns[i].queued = 0;
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

/* The first operation at or after that place whose queue has tasks, or NULL. Several transactions are built
 * per turn, and most operations have no tasks. */
static struct op *next_filled(size_t place) {
    for (size_t word = place / 64; word < LENGTH(batch.filled); word++) {
        uint64_t bits = batch.filled[word];

        if (word == place / 64)
            bits &= ~UINT64_C(0) << place % 64;
        if (bits != 0)
            return batch.ops[word * 64 + (size_t)__builtin_ctzll(bits)];
    }
    return NULL;
}

#define FILLED_EACH(op) for (struct op *op = next_filled(0); op != NULL; op = next_filled(op->place + 1U))

static void note_filled(const struct op *op) {
    uint64_t bit = UINT64_C(1) << op->place % 64;

    if (op->queued > 0)
        batch.filled[op->place / 64] |= bit;
    else
        batch.filled[op->place / 64] &= ~bit;
}

static void count_queued(const struct task *t, int change) {
    struct op *op = t->op;

    op->queued += (size_t)change;
    note_filled(op);
    op->contention.blocked += (size_t)(t->blocked_us != 0 ? change : 0);
    batch.conns[op->conn].queued += (size_t)change;
}

void batch_count_bundled(long change) {
    batch.conns[CONN_WRITE].queued += (size_t)change;
}

static void add_apart(struct list *list, struct task *t, uint32_t group_size) {
    t->group_size = group_size;
    list_push_back(list, &t->node);
}

void batch_requeue(struct task *t, struct list *before) {
    t->state = TASK_QUEUED;
    count_queued(t, 1);
    list_insert_before(before, &t->node);
}

void batch_dequeue(struct task *t) {
    list_remove(&t->node);
    count_queued(t, -1);
    t->state = TASK_IDLE;
}

void batch_fail(struct task *t, const struct op_error *error) {
    if (t->op->fail != NULL)
        t->op->fail(t, error);
}

void batch_reset(struct task *t) {
    t->state = TASK_IDLE;
    t->group_size = 0;
    t->failures = t->lost = t->lost_alone = 0;
    t->unsettled = false;
    t->blocked_us = 0;
}

void batch_add(struct task *t) {
    if (t->client_txn != NULL) {
        t->client_txn->on_joined(t->client_txn);
        return;
    }
    assert(t->state == TASK_IDLE && t->rows > 0);
    t->state = TASK_QUEUED;
    t->unsettled = false;
    if (task_size(t) > OP_MAX_BYTES) {
        add_apart(&batch.too_large, t, 1);
    } else {
        t->group_size = 0;
        batch_requeue(t, &t->op->queue);
    }
}

bool batch_cancel(struct task *t) {
    if (t->state != TASK_QUEUED)
        return false;
    list_remove(&t->node);
    if (t->group_size == 0)
        count_queued(t, -1);
    batch_reset(t);
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
    return next_filled(0) == NULL && list_empty(&batch.suspects) && list_empty(&batch.too_large) &&
           !client_txns_wait();
}

/* ---- building a transaction ---- */

static struct conn *conn_of(const struct db_conn *db) {
    for (size_t i = 0; i < CONN_KINDS; i++)
        if (batch.conns[i].db == db)
            return &batch.conns[i];
    return NULL;
}

static void batch_append_task(struct txn *f, struct task *t) {
    if (f->task_count == f->task_cap) {
        f->task_cap = f->task_cap == 0 ? 64 : f->task_cap * 2;
        f->tasks = xrealloc(f->tasks, f->task_cap * sizeof *f->tasks);
    }
    f->tasks[f->task_count++] = t;
    f->bytes += task_size(t);
    f->parts[f->part_count].count++;
    f->splittable_count += t->op->splittable && t->client_txn == NULL;
    list_remove(&t->node);
    if (t->group_size == 0 && t->client_txn == NULL)
        count_queued(t, -1);
    t->state = TASK_SENT;
}

static struct task *first_task(struct op *op) {
    return LIST_ENTRY(op->queue.next, struct task, node);
}

/* True if t fits into a statement with that many rows and bytes, in a transaction with in_flight bytes. */
static bool batch_fits(size_t in_flight, size_t rows, size_t bytes, const struct task *t) {
    return rows + t->rows <= (size_t)config.batch_max && bytes + t->bytes <= (size_t)config.batch_max_bytes &&
           in_flight + task_size(t) <= OP_MAX_BYTES;
}

bool batch_has_room(const struct txn *f, const struct params *p, const struct task *t) {
    return p->rows == 0 || batch_fits(f->bytes, p->rows, p->bytes, t);
}

void batch_encode(struct txn *f, struct params *p, struct task *t,
                  void (*encode_task)(struct params *p, struct task *t)) {
    t->first_row = p->rows;
    t->marked = false;
    if (encode_task != NULL)
        encode_task(p, t);
    p->rows += t->rows;
    p->bytes += t->bytes;
    batch_append_task(f, t);
}

/* Number of tasks in the statement that is being built. */
static size_t appended(const struct txn *f) {
    return f->parts[f->part_count].count;
}

static size_t quota_for(const struct txn *f, const struct op *op) {
    return op->splittable ? (op->queued * f->quota + f->of - 1) / f->of : SIZE_MAX;
}

void batch_finish(struct txn *f, struct op *op, enum sql_stmt stmt,
                  void (*done)(struct task **tasks, size_t count, const PGresult *rows)) {
    size_t rows = db_params(f->db)->rows;

    f->parts[f->part_count].op = op;
    f->parts[f->part_count].client_txn = NULL;
    f->parts[f->part_count].done = done;
    f->part_count++;
    stats.rows += rows;
    if (rows > stats.batch_max_rows)
        stats.batch_max_rows = rows;
    db_statement(f->db, stmt);
}

static void finish_statement(struct txn *f, struct op *op, const struct op_alike *alike) {
    batch_finish(f, op, alike != NULL ? alike->stmt : op->stmt, alike != NULL ? alike->done : op->done);
}

struct params *batch_begin(struct txn *f, struct op *op) {
    struct params *p = db_params(f->db);

    f->parts[f->part_count].count = 0;
    if (op->begin != NULL)
        op->begin(p);
    return p;
}

void batch_statement(struct txn *f, struct op *op, struct client_txn *b, struct task *const *tasks,
                     size_t count) {
    struct params *p = batch_begin(f, op);

    for (size_t i = 0; i < count; i++)
        batch_encode(f, p, tasks[i], op->encode);
    finish_statement(f, op, NULL);
    f->parts[f->part_count - 1].client_txn = b;
}

/* How many of the operation's first tasks fit into one statement. The other tasks wait for the next
 * transaction. */
static size_t scope_of(const struct txn *f, const struct op *op) {
    size_t quota = op->alone ? 1 : quota_for(f, op);
    size_t rows = 0, bytes = 0, count = 0;

    for (const struct list *n = op->queue.next; n != &op->queue && count < quota; n = n->next, count++) {
        const struct task *t = LIST_ENTRY(n, const struct task, node);

        if (count > 0 && !batch_fits(f->bytes + bytes + rows * OP_ROW_BYTES, rows, bytes, t))
            break;
        rows += t->rows;
        bytes += t->bytes;
    }
    return count;
}

static void add_statement(struct txn *f, struct op *op) {
    size_t scope = scope_of(f, op);
    struct params *p = batch_begin(f, op);

    for (; scope > 0; scope--)
        batch_encode(f, p, first_task(op), op->encode);
    finish_statement(f, op, NULL);
}

/* ---- tasks of one kind ---- */

/* Tasks of one kind share a statement: all tasks of one shape, or all tasks without a shape. */
struct task_kind {
    bool alike;
    struct op_shape shape;
};

static struct task_kind kind_of(const struct op *op, const struct task *t) {
    struct task_kind kind;

    kind.alike = op->alike->shape(t, &kind.shape);
    return kind;
}

static bool same_kind(const struct task_kind *x, const struct task_kind *y) {
    return x->alike == y->alike && (!x->alike || (x->shape.a == y->shape.a && x->shape.b == y->shape.b));
}

/* The number of kinds of the first tasks. 0 if the general statement is cheaper for all of them. */
static size_t count_kinds(const struct txn *f, const struct op *op, size_t scope) {
    struct task_kind kinds[ALIKE_MOST], kind;
    size_t known = 0;
    size_t left = scope;

    for (struct list *n = op->queue.next; left > 0; n = n->next, left--) {
        size_t i = 0;

        kind = kind_of(op, LIST_ENTRY(n, struct task, node));
        while (i < known && !same_kind(&kinds[i], &kind))
            i++;
        if (i == ALIKE_MOST)
            return 0;
        if (i == known)
            kinds[known++] = kind;
    }
    if (known == 1)
        return kinds[0].alike;
    return f->part_count + known < DB_MAX_STATEMENTS ? known : 0;
}

static void encode_kind(struct txn *f, struct params *p, struct task *t, bool alike) {
    batch_encode(f, p, t, alike ? t->op->alike->encode : t->op->encode);
}

/* Appends a statement for the first task and for the tasks of its kind in the scope. */
static void add_kind(struct txn *f, struct op *op, size_t *scope) {
    struct task *first = first_task(op);
    struct task_kind wanted = kind_of(op, first), kind;
    struct params *p = wanted.alike ? db_params(f->db) : batch_begin(f, op);
    struct list *next = &first->node;
    size_t left = *scope;

    f->parts[f->part_count].count = 0;
    if (wanted.alike)
        op->alike->begin(p, first);
    for (; left > 0; left--) {
        struct task *t = LIST_ENTRY(next, struct task, node);

        next = next->next;
        kind = kind_of(op, t);
        if (same_kind(&kind, &wanted))
            encode_kind(f, p, t, wanted.alike);
    }
    *scope -= appended(f);
    finish_statement(f, op, wanted.alike ? op->alike : NULL);
}

/* True if op can get another statement in the transaction. One statement is kept free for the commit marker. */
static bool batch_may_go_on(const struct txn *f, struct op *op) {
    return !list_empty(&op->queue) && f->part_count < DB_MAX_STATEMENTS - 1 &&
           txn_has_room(f, task_size(first_task(op)));
}

static void decide(const struct op *op, size_t scope) {
    for (struct list *n = op->queue.next; op->alike->decide != NULL && scope > 0; n = n->next, scope--)
        op->alike->decide(LIST_ENTRY(n, struct task, node));
}

/* False if the general statement is cheaper for all tasks. */
static bool add_kinds(struct txn *f, struct op *op) {
    size_t scope = scope_of(f, op);
    size_t kinds;

    decide(op, scope);
    kinds = count_kinds(f, op, scope);
    for (size_t left = kinds; left > 0; left--)
        add_kind(f, op, &scope);
    return kinds > 0;
}

/* The number of statements of an `alone` operation is bounded, so that the other operations find room. */
static void add_op(struct txn *f, struct op *op) {
    size_t left = !op->alone ? 1 : op->most > 0 ? op->most : ALONE_MOST;

    if (op->alike != NULL && batch_may_go_on(f, op) && add_kinds(f, op))
        return;
    for (; left > 0 && batch_may_go_on(f, op); left--)
        add_statement(f, op);
}

enum durability batch_durability(enum commit_kind kind) {
    enum durability set = (enum durability)config.durability;

    if (kind == COMMIT_ASYNC)
        return DURABILITY_ASYNC;
    return kind == COMMIT_REPLICATED && set > DURABILITY_REMOTE_WRITE ? DURABILITY_REMOTE_FLUSH : set;
}

/* Appends the first suspects, at most as many as may share a statement. No other task is in this
 * transaction, because it is likely to fail. */
static void add_suspects(struct txn *f) {
    struct task *first = LIST_ENTRY(batch.suspects.next, struct task, node);
    struct op *op = first->op;
    uint32_t group_size = first->group_size;
    struct params *p;

    stats.suspect_transactions++;
    db_begin(f->db, batch_durability(op->commit));
    p = batch_begin(f, op);
    for (uint32_t i = 0; i < group_size && !list_empty(&batch.suspects); i++) {
        struct task *t = LIST_ENTRY(batch.suspects.next, struct task, node);

        if (t->op != op || t->group_size != group_size || (i > 0 && op->alone) || !batch_has_room(f, p, t))
            break;
        batch_encode(f, p, t, op->encode);
    }
    finish_statement(f, op, NULL);
}

static void add_ops(struct txn *f, enum commit_kind kind) {
    FILLED_EACH(op)
        if (op->conn == f->db->kind && op->commit == kind && !op->contention.on &&
            !(f->unsettled && op->takes) && op->encode_from == NULL)
            add_op(f, op);
}

static void add_those_of(enum turn turn, struct txn *f) {
    static const enum commit_kind kinds[] = {
        [TURN_ORDINARY] = COMMIT_ORDINARY,
        [TURN_ASYNC] = COMMIT_ASYNC,
        [TURN_REPLICATED] = COMMIT_REPLICATED,
    };

    if (turn == TURN_SUSPECTS) {
        if (!list_empty(&batch.suspects))
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
    if (turn == TURN_ORDINARY && !f->unsettled)
        batch.plan();
    db_begin(f->db, batch_durability(kinds[turn]));
    add_ops(f, kinds[turn]);
}

/* Contended and ordinary operations take turns on the other connections, too. */
static void build_other(struct txn *f) {
    for (int i = 0; i < 2 && f->part_count == 0; i++) {
        batch.side_contended = !batch.side_contended;
        if (batch.side_contended)
            contention_append(f);
        else
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
    FILLED_EACH(op)
        if (has_unsettled(op))
            return true;
    return false;
}

static bool suspects_unsettled(void) {
    LIST_EACH(node, &batch.suspects)
        if (LIST_ENTRY(node, struct task, node)->unsettled)
            return true;
    return false;
}

static void txn_clear_parts(struct txn *f) {
    f->part_count = f->task_count = 0;
    f->bytes = 0;
    f->is_client_txn = f->checks = f->unsettled = false;
    f->contended = NULL;
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

static void finish_txn(struct txn *f) {
    struct task **tasks = f->tasks;

    for (size_t i = 0; i < f->part_count; i++) {
        f->parts[i].tasks = tasks;
        tasks += f->parts[i].count;
    }
    f->marked = commit_marker_write(&f->marker, db_params(f->db));
    if (f->marked)
        db_statement(f->db, SQL_MARK_COMMIT);
}

static void send_sync(struct txn *f) {
    f->sent_us = clock_mono();
    db_send(f->db, on_completed);
}

static void send_txn(struct txn *f) {
    finish_txn(f);
    send_sync(f);
}

static size_t splittable_waiting(const struct db_conn *db) {
    size_t count = 0;

    FILLED_EACH(op)
        if (op->conn == db->kind && op->splittable && !op->contention.on)
            count += op->queued;
    return count;
}

/* A second transaction is sent if it has at least as many tasks as the first. */
static bool is_worth_it(const struct conn *conn, const struct txn *other, size_t waiting) {
    if (waiting + other->splittable_count > 0)
        return waiting >= other->splittable_count;
    return conn->queued >= other->task_count;
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
    (void)batch_begin(f, t->op);
    t->first_row = f->next_row = 0;
    encode_part(f, t);
    batch_append_task(f, t);
    finish_statement(f, t->op, NULL);
    finish_txn(f);
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
    FILLED_EACH(op)
        if (op->conn == conn->db->kind && op->encode_from != NULL && !op->contention.on)
            return first_task(op);
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
    if (t == NULL || (conn->was_divided && conn->queued > t->op->queued)) {
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

/* Not done in batch_add(), because its callers still use the task afterwards. */
static void fail_too_large(void) {
    static const struct op_error error = { OP_TOO_LARGE,
                                           "it is larger than a statement of the database can be" };
    struct list *node;

    while ((node = list_pop_front(&batch.too_large)) != NULL) {
        struct task *t = LIST_ENTRY(node, struct task, node);

        batch_reset(t);
        batch_fail(t, &error);
    }
}

/* Opens the connection for large requests when the first one is queued. Most servers never need it. */
static void open_large(void) {
    struct conn *conn = &batch.conns[CONN_LARGE];

    if (conn->db == NULL && conn->queued > 0 && batch_connected(CONN_WRITE))
        conn->db = db_conn_new("large", CONN_LARGE);
}

void batch_flush(void) {
    fail_too_large();
    open_large();
    for (size_t i = 0; i < CONN_KINDS; i++)
        if (batch.conns[i].db != NULL)
            conn_flush(&batch.conns[i]);
}

/* ---- results ---- */

/* The last task that begins at or before the parameter row with this ordinal. */
static struct task *task_of_ordinal(const struct part *part, int32_t ordinal) {
    size_t low = 0, high = part->count;

    while (high - low > 1) {
        size_t middle = (low + high) / 2;

        if (part->tasks[middle]->first_row < (size_t)ordinal)
            low = middle;
        else
            high = middle;
    }
    return part->tasks[low];
}

static void deliver_rows(const struct part *part, const PGresult *rows) {
    const struct op *op = part->op;

    for (int i = 0; op->on_row != NULL && i < PQntuples(rows); i++)
        op->on_row(part->count == 1 ? part->tasks[0] : task_of_ordinal(part, row_int4(rows, i, 0)), rows, i);
    for (size_t i = 0; op->on_end != NULL && i < part->count; i++)
        op->on_end(part->tasks[i], rows);
}

void batch_part_done(const struct part *part, const PGresult *rows) {
    for (size_t i = 0; i < part->count; i++)
        batch_reset(part->tasks[i]);
    if (part->done != NULL)
        part->done(part->tasks, part->count, rows);
    else
        deliver_rows(part, rows);
}

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
        batch_part_done(&f->parts[i], result->rows[i]);
    if (f->contended != NULL)
        contention_committed(f, result->rows);
}

bool batch_prepare_again(struct task *t, bool unknown) {
    t->state = TASK_IDLE;
    return t->op->again == NULL || t->op->again(t, unknown);
}

void batch_send_in_front(struct task *t) {
    if (t->group_size == 0) {
        batch_requeue(t, t->op->queue.next);
        return;
    }
    t->state = TASK_QUEUED;
    list_push_front(&batch.suspects, &t->node);
}

/* Callers pass the last task first, so that the order of the tasks is kept. */
void batch_send_again(struct task *t, bool unknown) {
    if (batch_prepare_again(t, unknown))
        batch_send_in_front(t);
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

/* SQLSTATE classes 40 (rolled back), 55 (object not in the needed state), 57 (cancelled by an operator). */
bool batch_is_transient(const char *sqlstate) {
    return strncmp(sqlstate, "40", 2) == 0 || strncmp(sqlstate, "55", 2) == 0 ||
           strncmp(sqlstate, "57", 2) == 0;
}

/* A task of the failed statement: it is sent again with half as many others, or it fails. */
static void failed_task(struct task *t, size_t group_size, const struct op_error *error) {
    bool transient = batch_is_transient(error->sqlstate) && ++t->failures < MAX_TRANSIENT_FAILURES;

    t->state = TASK_IDLE;
    if (!transient && (group_size <= 1 || strcmp(error->sqlstate, OP_DISK_FULL) == 0)) {
        batch_reset(t);
        batch_fail(t, error);
        return;
    }
    if (!transient)
        t->group_size = (uint32_t)(group_size / 2 > 0 ? group_size / 2 : 1);
    batch_send_again(t, false);
}

/* If the commit or its marker failed, and not a statement of the tasks, all tasks become suspects. */
static void batch_failed(struct txn *f, const struct db_result *result) {
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

        for (size_t k = part->count; k-- > 0;) {
            if (statement_failed)
                failed_task(part->tasks[k], group_size, &result->error);
            else
                batch_send_again(part->tasks[k], false);
        }
    }
}

static void on_completed(struct db_conn *db, const struct db_result *result) {
    struct conn *conn = conn_of(db);
    struct txn *f = &conn->txns[conn->oldest];

    conn->oldest = (conn->oldest + 1) % DB_MAX_TXNS;
    f->at_work = result->at_work;
    f->disk_full = result->outcome == DB_LOST && strcmp(result->error.sqlstate, OP_DISK_FULL) == 0;
    if (f->marked && result->outcome != DB_LOST)
        commit_marker_end(&f->marker);
    if (result->outcome == DB_COMMITTED) {
        histogram_add(&stats_commits, clock_mono() - f->sent_us);
        batch_committed(f, result);
    } else if (result->outcome == DB_FAILED) {
        batch_failed(f, result);
    } else {
        lost(conn);
    }
}
