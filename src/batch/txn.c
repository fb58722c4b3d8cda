/* Builds transactions: the statements of operations, from their queued tasks. */
#include "batch/txn.h"

#include "base/stats.h"
#include "batch/separate.h"
#include "batch/task_queue.h"
#include "config/config.h"
#include "pg/apart_flush.h"

/* With more kinds of tasks than this in a transaction, the general statement is cheaper. */
#define ALIKE_MOST 3

enum durability txn_durability(enum commit_kind kind) {
    enum durability set = (enum durability)config.durability;

    if (kind == COMMIT_ASYNC)
        return DURABILITY_ASYNC;
    return kind == COMMIT_REPLICATED && set > DURABILITY_REMOTE_WRITE ? DURABILITY_REMOTE_FLUSH : set;
}

void txn_clear_parts(struct txn *txn) {
    txn->part_count = txn->task_count = 0;
    txn->bytes = txn->rows = txn->cost = 0;
    txn->is_client_txn = txn->is_heavy = txn->checks = txn->unsettled = false;
    txn->contended = NULL;
}

void txn_finish(struct txn *txn) {
    struct task **tasks = txn->tasks;

    for (size_t i = 0; i < txn->part_count; i++) {
        txn->parts[i].tasks = tasks;
        tasks += txn->parts[i].count;
    }
    txn->marked = commit_marker_write(&txn->marker, db_params(txn->db));
    if (txn->marked)
        db_statement(txn->db, SQL_MARK_COMMIT);
    if (txn->db->kind == CONN_WRITE)
        flush_apart_ask(txn->db, txn->rows);
}

/* ---- a statement ---- */

void txn_append_task(struct txn *txn, struct task *t) {
    if (txn->task_count == txn->task_cap) {
        txn->task_cap = txn->task_cap == 0 ? 64 : txn->task_cap * 2;
        txn->tasks = xrealloc(txn->tasks, txn->task_cap * sizeof *txn->tasks);
    }
    txn->tasks[txn->task_count++] = t;
    txn->bytes += task_size(t);
    txn->parts[txn->part_count].count++;
    txn->splittable_count += t->op->splittable && t->client_txn == NULL;
    task_queue_take(t);
}

size_t txn_rows_most(const struct op *op) {
    size_t most = (size_t)config.batch_max;

    return op->rows_most > 0 && op->rows_most < most ? op->rows_most : most;
}

/* True if t fits into a statement with that many rows and bytes, in a transaction with txn_bytes bytes. */
static bool fits_in_statement(size_t txn_bytes, size_t rows, size_t bytes, const struct task *t) {
    return rows + t->rows <= txn_rows_most(t->op) && bytes + t->bytes <= (size_t)config.batch_max_bytes &&
           txn_bytes + task_size(t) <= OP_MAX_BYTES;
}

bool txn_statement_has_room(const struct txn *txn, const struct params *p, const struct task *t) {
    return p->rows == 0 || fits_in_statement(txn->bytes, p->rows, p->bytes, t);
}

void txn_encode(struct txn *txn, struct params *p, struct task *t,
                void (*encode_task)(struct params *p, struct task *t)) {
    t->first_row = p->rows;
    t->marked = false;
    if (encode_task != NULL)
        encode_task(p, t);
    p->rows += t->rows;
    p->bytes += t->bytes;
    txn_append_task(txn, t);
}

struct params *txn_encode_first(struct txn *txn, struct op *op, size_t most) {
    struct params *p = txn_begin_statement(txn, op);

    do
        txn_encode(txn, p, task_queue_first(op), op->encode);
    while (--most > 0 && !fair_list_is_empty(&op->queue) &&
           txn_statement_has_room(txn, p, task_queue_first(op)));
    return p;
}

static size_t quota_for(const struct txn *txn, const struct op *op) {
    return op->splittable ? (op->queued * txn->quota + txn->of - 1) / txn->of : SIZE_MAX;
}

void txn_finish_statement(struct txn *txn, struct op *op, enum sql_stmt stmt,
                          void (*done)(struct task **tasks, size_t count, const PGresult *rows)) {
    size_t rows = db_params(txn->db)->rows;

    txn->parts[txn->part_count].op = op;
    txn->parts[txn->part_count].client_txn = NULL;
    txn->parts[txn->part_count].done = done;
    txn->part_count++;
    txn->rows += rows;
    stats.rows += rows;
    if (rows > stats.batch_max_rows)
        stats.batch_max_rows = rows;
    db_statement(txn->db, stmt);
}

struct params *txn_begin_statement(struct txn *txn, struct op *op) {
    struct params *p = db_params(txn->db);

    txn->parts[txn->part_count].count = 0;
    if (op->begin != NULL)
        op->begin(p);
    return p;
}

void txn_append_statement(struct txn *txn, struct op *op, struct client_txn *ct, struct task *const *tasks,
                          size_t count) {
    struct params *p = txn_begin_statement(txn, op);

    for (size_t i = 0; i < count; i++)
        txn_encode(txn, p, tasks[i], op->encode);
    txn_finish_statement(txn, op, op->stmt, op->done);
    txn->parts[txn->part_count - 1].client_txn = ct;
}

/* How many of the operation's first tasks fit into one statement. The other tasks wait for the next
 * transaction. */
static size_t scope_of(const struct txn *txn, const struct op *op) {
    size_t quota = op->alone ? 1 : quota_for(txn, op);
    size_t rows = 0, bytes = 0, count = 0;

    for (struct list *n = op->queue.nodes.next; n != &op->queue.nodes && count < quota;
         n = n->next, count++) {
        const struct task *t = task_of_node(n);

        if (count > 0 && !fits_in_statement(txn->bytes + bytes + rows * OP_ROW_BYTES, rows, bytes, t))
            break;
        rows += t->rows;
        bytes += t->bytes;
    }
    return count;
}

static void append_first_tasks(struct txn *txn, struct op *op) {
    size_t scope = scope_of(txn, op);
    struct params *p = txn_begin_statement(txn, op);

    for (; scope > 0; scope--)
        txn_encode(txn, p, task_queue_first(op), op->encode);
    txn_finish_statement(txn, op, op->stmt, op->done);
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
    return x->alike == y->alike && (!x->alike || (x->shape.stmt == y->shape.stmt &&
                                                  x->shape.a == y->shape.a && x->shape.b == y->shape.b));
}

/* The number of kinds of the first tasks. 0 if the general statement is cheaper for all of them. */
static size_t count_kinds(const struct txn *txn, const struct op *op, size_t scope) {
    struct task_kind kinds[ALIKE_MOST], kind;
    size_t known = 0;
    size_t left = scope;

    for (struct list *n = op->queue.nodes.next; left > 0; n = n->next, left--) {
        size_t i = 0;

        kind = kind_of(op, task_of_node(n));
        while (i < known && !same_kind(&kinds[i], &kind))
            i++;
        if (i == ALIKE_MOST)
            return 0;
        if (i == known)
            kinds[known++] = kind;
    }
    if (known == 1)
        return kinds[0].alike;
    if (op->alike->is_for_all)
        return 0;
    return txn->part_count + known < DB_MAX_STATEMENTS ? known : 0;
}

static void encode_kind(struct txn *txn, struct params *p, struct task *t, bool alike) {
    txn_encode(txn, p, t, alike ? t->op->alike->encode : t->op->encode);
}

/* Appends a statement for the first task and for the tasks of its kind in the scope. */
static void append_kind(struct txn *txn, struct op *op, size_t *scope) {
    struct task *first = task_queue_first(op);
    struct task_kind wanted = kind_of(op, first), kind;
    struct params *p = wanted.alike ? db_params(txn->db) : txn_begin_statement(txn, op);
    struct list *next = &first->turn.node;
    size_t left = *scope;

    txn->parts[txn->part_count].count = 0;
    if (wanted.alike)
        op->alike->begin(p, first);
    for (; left > 0; left--) {
        struct task *t = task_of_node(next);

        next = next->next;
        kind = kind_of(op, t);
        if (same_kind(&kind, &wanted))
            encode_kind(txn, p, t, wanted.alike);
    }
    *scope -= txn->parts[txn->part_count].count;
    txn_finish_statement(txn, op, wanted.alike ? wanted.shape.stmt : op->stmt,
                         wanted.alike ? op->alike->done : op->done);
}

/* True if op can get another statement in the transaction. One statement is kept free for the commit marker. */
static bool takes_statement(const struct txn *txn, struct op *op) {
    return !fair_list_is_empty(&op->queue) && txn->part_count < DB_MAX_STATEMENTS - 1 &&
           txn_has_room(txn, task_size(task_queue_first(op)));
}

static void decide(const struct op *op, size_t scope) {
    for (struct list *n = op->queue.nodes.next; op->alike->decide != NULL && scope > 0; n = n->next, scope--)
        op->alike->decide(task_of_node(n));
}

/* False if the general statement is cheaper for all tasks. */
static bool append_kinds(struct txn *txn, struct op *op) {
    size_t scope = scope_of(txn, op);
    size_t kinds;

    decide(op, scope);
    kinds = count_kinds(txn, op, scope);
    for (size_t left = kinds; left > 0; left--)
        append_kind(txn, op, &scope);
    return kinds > 0;
}

/* The number of statements of an `alone` operation is bounded, so that the other operations find room. */
void txn_append_op(struct txn *txn, struct op *op) {
    size_t left = op->alone ? separate_most(op) : 1;

    if (op->alike != NULL && takes_statement(txn, op) && append_kinds(txn, op))
        return;
    for (; left > 0 && takes_statement(txn, op) && separate_fits(txn, op); left--)
        append_first_tasks(txn, op);
}

/* ---- results ---- */

size_t txn_task_of_ordinal(struct task *const *tasks, size_t count, int32_t ordinal) {
    size_t low = 0, high = count;

    while (high - low > 1) {
        size_t middle = (low + high) / 2;

        if (tasks[middle]->first_row < (size_t)ordinal)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void deliver_rows(const struct part *part, const PGresult *rows) {
    const struct op *op = part->op;

    for (int i = 0; op->on_row != NULL && i < PQntuples(rows); i++)
        op->on_row(part->tasks[part->count == 1
                                   ? 0
                                   : txn_task_of_ordinal(part->tasks, part->count, row_int4(rows, i, 0))],
                   rows, i);
    for (size_t i = 0; op->on_end != NULL && i < part->count; i++)
        op->on_end(part->tasks[i], rows);
}

void txn_end_part(const struct part *part, const PGresult *rows) {
    for (size_t i = 0; i < part->count; i++)
        task_reset(part->tasks[i]);
    if (part->done != NULL)
        part->done(part->tasks, part->count, rows);
    else
        deliver_rows(part, rows);
}
