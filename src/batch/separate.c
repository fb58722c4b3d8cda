/* Separates operations whose statements fail or are slow from the others. */
#include "batch/separate.h"

#include "base/clock.h"
#include "base/timer.h"
#include "batch/task_queue.h"

static size_t next_place; /* of the operation that is next */

/* For each connection. clock_mono() */
static int64_t watched_until_us[CONN_KINDS];
static int64_t rests_until_us[CONN_KINDS];
static bool slow_is_sent[CONN_KINDS];
static struct timer rest_ends[CONN_KINDS];

void separate_init(struct op *const *ops) {
    next_place = 0;
    for (size_t i = 0; ops[i] != NULL; i++)
        ops[i]->failing_until_us = ops[i]->slow_until_us = 0;
    for (size_t i = 0; i < CONN_KINDS; i++) {
        watched_until_us[i] = rests_until_us[i] = 0;
        slow_is_sent[i] = false;
        timer_stop(&rest_ends[i]);
    }
}

static bool is_separable(const struct op *op) {
    return op->alone && !op->takes && op->encode_from == NULL;
}

void separate_note_failure(struct op *op) {
    if (is_separable(op))
        op->failing_until_us = clock_mono() + SEPARATE_US;
}

/* Work of the server itself has its own bounds. */
static bool may_be_slow(const struct op *op) {
    return is_separable(op) && op->phase != PHASE_START && op->phase != PHASE_EXPIRE &&
           op->phase != PHASE_LOAD && op->phase != PHASE_UPKEEP && op->conn != CONN_LARGE;
}

static bool is_slow(const struct op *op) {
    return op->slow_until_us != 0 && clock_mono() < op->slow_until_us;
}

bool separate_is(const struct op *op) {
    return (op->failing_until_us != 0 && clock_mono() < op->failing_until_us) || is_slow(op);
}

/* ---- times ---- */

static bool fast_tasks_wait(const struct txn *txn) {
    if (txn->db->sent_txns > 0)
        return true;
    TASK_QUEUE_EACH(op)
    if (op->conn == txn->db->kind && !is_slow(op))
        return true;
    return false;
}

/* The end of the rest begins a turn of the loop. */
static void on_rest_end(struct timer *t) {
    (void)t;
}

static void begin_rest(const struct txn *txn, int64_t took_us) {
    enum conn_kind kind = txn->db->kind;

    if (!fast_tasks_wait(txn))
        return;
    rests_until_us[kind] = clock_mono() + took_us;
    timer_set(&rest_ends[kind], rests_until_us[kind], on_rest_end);
}

static void note_part(const struct txn *txn, struct op *op, const int64_t *took_us) {
    if (took_us == NULL) {
        watched_until_us[txn->db->kind] = clock_mono() + SEPARATE_US;
    } else if (*took_us >= SLOW_US) {
        op->slow_until_us = clock_mono() + 2 * *took_us + SEPARATE_US;
        begin_rest(txn, *took_us);
    }
}

void separate_note_times(const struct txn *txn, const struct db_result *result) {
    if (txn->is_slow)
        slow_is_sent[txn->db->kind] = false;
    if (txn->is_client_txn || clock_mono() - txn->sent_us < SLOW_US)
        return;
    for (size_t i = 0; i < txn->part_count; i++)
        if (may_be_slow(txn->parts[i].op))
            note_part(txn, txn->parts[i].op, result->took_us == NULL ? NULL : &result->took_us[i]);
}

void separate_watch(const struct txn *txn) {
    if (clock_mono() < watched_until_us[txn->db->kind])
        db_time(txn->db);
}

/* ---- transactions ---- */

static bool is_due(const struct op *op, enum conn_kind kind) {
    return op->conn == kind && separate_is(op) && !op->contention.on &&
           !(is_slow(op) && (slow_is_sent[kind] || clock_mono() < rests_until_us[kind]));
}

static struct op *next_from(enum conn_kind kind, size_t from) {
    for (struct op *op = task_queue_next(from); op != NULL; op = task_queue_next(op->place + 1U))
        if (is_due(op, kind))
            return op;
    return from > 0 ? next_from(kind, 0) : NULL;
}

/* Each transaction has one task. With several, a task that fails would hold back those in front of it. */
void separate_append(struct txn *txn) {
    struct op *op = next_from(txn->db->kind, next_place);

    if (op == NULL)
        return;
    next_place = op->place + 1U;
    if (is_slow(op))
        txn->is_slow = slow_is_sent[txn->db->kind] = true;
    if (op->conn != CONN_READ)
        db_begin(txn->db, txn_durability(op->commit));
    db_time(txn->db);
    (void)txn_encode_first(txn, op, 1);
    txn_finish_statement(txn, op, op->stmt, op->done);
}
