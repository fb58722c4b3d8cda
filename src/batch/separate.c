/* Separates statements that are heavy, slow or failing from the others. */
#include "batch/separate.h"

#include "base/clock.h"
#include "base/timer.h"
#include "batch/batch.h"
#include "batch/task_queue.h"

/* Statements of an operation that is `alone`, unless op.most says how many. */
#define ALONE_MOST 16
/* The work of a statement besides its rows, in rows. */
#define STATEMENT_COST 16

static size_t next_place; /* of the operation that is next */

/* For each connection. clock_mono() */
static int64_t watched_until_us[CONN_KINDS];
static int64_t rests_until_us[CONN_KINDS];
static bool heavy_is_sent[CONN_KINDS];
static struct timer rest_ends[CONN_KINDS];

static bool is_separable(const struct op *op) {
    return op->alone && !op->takes && op->encode_from == NULL;
}

/* Work of the server itself has its own bounds. */
static bool may_be_slow(const struct op *op) {
    return is_separable(op) && op->phase != PHASE_START && op->phase != PHASE_EXPIRE &&
           op->phase != PHASE_LOAD && op->phase != PHASE_UPKEEP && op->conn != CONN_LARGE;
}

void separate_init(struct op *const *ops) {
    next_place = 0;
    for (size_t i = 0; ops[i] != NULL; i++) {
        ops[i]->failing_until_us = ops[i]->slow_until_us = 0;
        ops[i]->width = may_be_slow(ops[i]) ? 1 : ALONE_MOST;
        ops[i]->left_out = false;
    }
    for (size_t i = 0; i < CONN_KINDS; i++) {
        watched_until_us[i] = rests_until_us[i] = 0;
        heavy_is_sent[i] = false;
        timer_stop(&rest_ends[i]);
    }
}

void separate_note_failure(struct op *op) {
    if (is_separable(op))
        op->failing_until_us = clock_mono() + SEPARATE_US;
}

bool separate_is(const struct op *op) {
    return op->failing_until_us != 0 && clock_mono() < op->failing_until_us;
}

static bool is_slow(const struct op *op) {
    return op->slow_until_us != 0 && clock_mono() < op->slow_until_us;
}

void separate_weigh(struct task *t) {
    const struct op *op = t->op;

    t->heavy =
        op->heavy || (may_be_slow(op) && !op->contention.on && (task_cost(t) > HEAVY_COST || is_slow(op)));
}

/* ---- light statements ---- */

size_t separate_most(const struct op *op) {
    return op->most > 0 ? op->most : op->width;
}

/* An operation without a statement in the transaction gets the next turn. */
bool separate_fits(struct txn *txn, struct op *op) {
    size_t cost = STATEMENT_COST + task_cost(task_queue_first(op));
    bool fits = !may_be_slow(op) || txn->cost == 0 || txn->cost + cost <= COST_MOST;

    op->left_out = !fits && txn->parts[txn->part_count - 1].op != op;
    if (fits && may_be_slow(op))
        txn->cost += cost;
    return fits;
}

/* ---- times ---- */

static bool light_tasks_wait(const struct txn *txn) {
    if (txn->db->sent_txns > 0)
        return true;
    TASK_QUEUE_EACH(op)
    if (op->conn == txn->db->kind)
        return true;
    return false;
}

/* The end of the rest begins a turn of the loop. */
static void on_rest_end(struct timer *t) {
    (void)t;
}

static void begin_rest(const struct txn *txn, int64_t took_us) {
    enum conn_kind kind = txn->db->kind;

    if (!light_tasks_wait(txn))
        return;
    rests_until_us[kind] = clock_mono() + took_us;
    timer_set(&rest_ends[kind], rests_until_us[kind], on_rest_end);
}

static void separate_note_slow(const struct txn *txn, struct op *op, int64_t took_us) {
    op->slow_until_us = clock_mono() + 2 * took_us + SEPARATE_US;
    op->width = 1;
    if (!op->contention.on)
        task_queue_make_heavy(op);
    begin_rest(txn, took_us);
}

/* The number of parts of one operation, from part `from` on. Sets *took_us to the time of the slowest. */
static size_t time_of_run(const struct txn *txn, const struct db_result *result, size_t from,
                          int64_t *took_us) {
    size_t count = 0;

    for (*took_us = 0; from + count < txn->part_count && txn->parts[from + count].op == txn->parts[from].op;
         count++)
        if (result->took_us != NULL && result->took_us[from + count] > *took_us)
            *took_us = result->took_us[from + count];
    return count;
}

/* The time of each statement is known if the transaction was timed, or was fast. */
static void note_run(const struct txn *txn, struct op *op, size_t count, bool is_known, int64_t took_us) {
    if (!is_known)
        watched_until_us[txn->db->kind] = clock_mono() + SEPARATE_US;
    else if (took_us >= SLOW_US)
        separate_note_slow(txn, op, took_us);
    else if (count >= op->width && op->width < ALONE_MOST)
        op->width *= 2;
}

static void note_heavy(const struct txn *txn, const struct db_result *result) {
    size_t last = txn->part_count - 1;
    int64_t took_us = result->took_us == NULL ? 0 : result->took_us[last];

    heavy_is_sent[txn->db->kind] = false;
    if (task_cost(txn->parts[last].tasks[0]) <= HEAVY_COST && took_us >= SLOW_US)
        separate_note_slow(txn, txn->parts[last].op, took_us);
    else if (took_us > 0)
        begin_rest(txn, took_us);
}

void separate_note_times(const struct txn *txn, const struct db_result *result) {
    bool is_known = result->took_us != NULL || clock_mono() - txn->sent_us < SLOW_US;
    int64_t took_us;
    size_t count;

    if (txn->is_heavy)
        note_heavy(txn, result);
    if (txn->is_heavy || txn->is_client_txn || result->outcome == DB_LOST)
        return;
    for (size_t i = 0; i < txn->part_count; i += count) {
        count = time_of_run(txn, result, i, &took_us);
        if (may_be_slow(txn->parts[i].op))
            note_run(txn, txn->parts[i].op, count, is_known, took_us);
    }
}

void separate_watch(const struct txn *txn) {
    if (clock_mono() < watched_until_us[txn->db->kind])
        db_time(txn->db);
}

/* ---- transactions ---- */

static void begin_txn(struct txn *txn, const struct op *op) {
    txn_set_commit(txn, op->commit);
    db_time(txn->db);
}

/* CONN_READ executes heavy reads only while CONN_LONG is not connected. A read of all jobs waits some seconds for CONN_LONG
 * before, and so does a read whose session has ended. */
static struct task *first_heavy(enum conn_kind kind) {
    struct task *t = task_queue_first_heavy(kind == CONN_LONG ? CONN_READ : kind);

    if (t == NULL || kind != CONN_READ)
        return t;
    if (batch_connected(CONN_LONG) || ((t->op->heavy || t->lost > 0) && !batch_lacks_long_reads()))
        return NULL;
    return t;
}

static void append_found_by_heavy(struct txn *txn, enum op_phase phase) {
    TASK_QUEUE_EACH(op)
    if (op->found_by_heavy && op->conn == txn->db->kind && op->phase <= phase && !op->contention.on)
        txn_append_op(txn, op);
}

/* The heavy statement is the last one of its transaction. */
static bool append_heavy(struct txn *txn) {
    enum conn_kind kind = txn->db->kind;
    struct task *t = first_heavy(kind);

    if (t == NULL || heavy_is_sent[kind] || clock_mono() < rests_until_us[kind])
        return false;
    txn->is_heavy = heavy_is_sent[kind] = true;
    begin_txn(txn, t->op);
    append_found_by_heavy(txn, t->op->phase);
    txn_append_statement(txn, t->op, NULL, &t, 1);
    return true;
}

static bool is_due(const struct op *op, enum conn_kind kind) {
    return op->conn == kind && (separate_is(op) || op->left_out) && !op->contention.on;
}

static struct op *next_from(enum conn_kind kind, size_t from) {
    for (struct op *op = task_queue_next(from); op != NULL; op = task_queue_next(op->place + 1U))
        if (is_due(op, kind))
            return op;
    return from > 0 ? next_from(kind, 0) : NULL;
}

/* The transaction of a failing operation has one task. With several, a task that fails would hold back those in front of
 * it. */
void separate_append(struct txn *txn) {
    struct op *op;

    if (append_heavy(txn) || (op = next_from(txn->db->kind, next_place)) == NULL)
        return;
    next_place = op->place + 1U;
    begin_txn(txn, op);
    if (!separate_is(op)) {
        txn_append_op(txn, op);
        return;
    }
    (void)txn_encode_first(txn, op, 1);
    txn_finish_statement(txn, op, op->stmt, op->done);
}
