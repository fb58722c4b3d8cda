/* Builds transactions: the statements of operations, from their queued tasks. */
#include "batch/txn.h"

#include "base/stats.h"
#include "batch/task_queue.h"
#include "config/config.h"

/* Statements of an operation that is `alone`, unless op.most says how many. */
#define ALONE_MOST 16
/* With more kinds of tasks than this in a transaction, the general statement is cheaper. */
#define ALIKE_MOST 3

enum durability txn_durability(enum commit_kind kind) {
    enum durability set = (enum durability)config.durability;

    if (kind == COMMIT_ASYNC)
        return DURABILITY_ASYNC;
    return kind == COMMIT_REPLICATED && set > DURABILITY_REMOTE_WRITE ? DURABILITY_REMOTE_FLUSH : set;
}

void txn_clear_parts(struct txn *f) {
    f->part_count = f->task_count = 0;
    f->bytes = 0;
    f->is_client_txn = f->is_slow = f->checks = f->unsettled = false;
    f->contended = NULL;
}

void txn_finish(struct txn *f) {
    struct task **tasks = f->tasks;

    for (size_t i = 0; i < f->part_count; i++) {
        f->parts[i].tasks = tasks;
        tasks += f->parts[i].count;
    }
    f->marked = commit_marker_write(&f->marker, db_params(f->db));
    if (f->marked)
        db_statement(f->db, SQL_MARK_COMMIT);
}

/* ---- a statement ---- */

void txn_append_task(struct txn *f, struct task *t) {
    if (f->task_count == f->task_cap) {
        f->task_cap = f->task_cap == 0 ? 64 : f->task_cap * 2;
        f->tasks = xrealloc(f->tasks, f->task_cap * sizeof *f->tasks);
    }
    f->tasks[f->task_count++] = t;
    f->bytes += task_size(t);
    f->parts[f->part_count].count++;
    f->splittable_count += t->op->splittable && t->client_txn == NULL;
    task_queue_take(t);
}

/* True if t fits into a statement with that many rows and bytes, in a transaction with txn_bytes bytes. */
static bool fits_in_statement(size_t txn_bytes, size_t rows, size_t bytes, const struct task *t) {
    return rows + t->rows <= (size_t)config.batch_max && bytes + t->bytes <= (size_t)config.batch_max_bytes &&
           txn_bytes + task_size(t) <= OP_MAX_BYTES;
}

bool txn_statement_has_room(const struct txn *f, const struct params *p, const struct task *t) {
    return p->rows == 0 || fits_in_statement(f->bytes, p->rows, p->bytes, t);
}

void txn_encode(struct txn *f, struct params *p, struct task *t,
                void (*encode_task)(struct params *p, struct task *t)) {
    t->first_row = p->rows;
    t->marked = false;
    if (encode_task != NULL)
        encode_task(p, t);
    p->rows += t->rows;
    p->bytes += t->bytes;
    txn_append_task(f, t);
}

struct params *txn_encode_first(struct txn *f, struct op *op, size_t most) {
    struct params *p = txn_begin_statement(f, op);

    do
        txn_encode(f, p, task_queue_first(op), op->encode);
    while (--most > 0 && !list_empty(&op->queue) && txn_statement_has_room(f, p, task_queue_first(op)));
    return p;
}

static size_t quota_for(const struct txn *f, const struct op *op) {
    return op->splittable ? (op->queued * f->quota + f->of - 1) / f->of : SIZE_MAX;
}

void txn_finish_statement(struct txn *f, struct op *op, enum sql_stmt stmt,
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
    txn_finish_statement(f, op, alike != NULL ? alike->stmt : op->stmt,
                         alike != NULL ? alike->done : op->done);
}

struct params *txn_begin_statement(struct txn *f, struct op *op) {
    struct params *p = db_params(f->db);

    f->parts[f->part_count].count = 0;
    if (op->begin != NULL)
        op->begin(p);
    return p;
}

void txn_append_statement(struct txn *f, struct op *op, struct client_txn *b, struct task *const *tasks,
                          size_t count) {
    struct params *p = txn_begin_statement(f, op);

    for (size_t i = 0; i < count; i++)
        txn_encode(f, p, tasks[i], op->encode);
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

        if (count > 0 && !fits_in_statement(f->bytes + bytes + rows * OP_ROW_BYTES, rows, bytes, t))
            break;
        rows += t->rows;
        bytes += t->bytes;
    }
    return count;
}

static void append_first_tasks(struct txn *f, struct op *op) {
    size_t scope = scope_of(f, op);
    struct params *p = txn_begin_statement(f, op);

    for (; scope > 0; scope--)
        txn_encode(f, p, task_queue_first(op), op->encode);
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
    txn_encode(f, p, t, alike ? t->op->alike->encode : t->op->encode);
}

/* Appends a statement for the first task and for the tasks of its kind in the scope. */
static void append_kind(struct txn *f, struct op *op, size_t *scope) {
    struct task *first = task_queue_first(op);
    struct task_kind wanted = kind_of(op, first), kind;
    struct params *p = wanted.alike ? db_params(f->db) : txn_begin_statement(f, op);
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
    *scope -= f->parts[f->part_count].count;
    finish_statement(f, op, wanted.alike ? op->alike : NULL);
}

/* True if op can get another statement in the transaction. One statement is kept free for the commit marker. */
static bool takes_statement(const struct txn *f, struct op *op) {
    return !list_empty(&op->queue) && f->part_count < DB_MAX_STATEMENTS - 1 &&
           txn_has_room(f, task_size(task_queue_first(op)));
}

static void decide(const struct op *op, size_t scope) {
    for (struct list *n = op->queue.next; op->alike->decide != NULL && scope > 0; n = n->next, scope--)
        op->alike->decide(LIST_ENTRY(n, struct task, node));
}

/* False if the general statement is cheaper for all tasks. */
static bool append_kinds(struct txn *f, struct op *op) {
    size_t scope = scope_of(f, op);
    size_t kinds;

    decide(op, scope);
    kinds = count_kinds(f, op, scope);
    for (size_t left = kinds; left > 0; left--)
        append_kind(f, op, &scope);
    return kinds > 0;
}

/* The number of statements of an `alone` operation is bounded, so that the other operations find room. */
void txn_append_op(struct txn *f, struct op *op) {
    size_t left = !op->alone ? 1 : op->most > 0 ? op->most : ALONE_MOST;

    if (op->alike != NULL && takes_statement(f, op) && append_kinds(f, op))
        return;
    for (; left > 0 && takes_statement(f, op); left--)
        append_first_tasks(f, op);
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

void txn_end_part(const struct part *part, const PGresult *rows) {
    for (size_t i = 0; i < part->count; i++)
        task_reset(part->tasks[i]);
    if (part->done != NULL)
        part->done(part->tasks, part->count, rows);
    else
        deliver_rows(part, rows);
}
