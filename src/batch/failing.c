/* Separates operations whose statements fail from the others. */
#include "batch/failing.h"

#include "base/clock.h"
#include "batch/task_queue.h"

static size_t next_place; /* of the operation that is next */

void failing_init(struct op *const *ops) {
    next_place = 0;
    for (size_t i = 0; ops[i] != NULL; i++)
        ops[i]->failing_until_us = 0;
}

void failing_note(struct op *op) {
    if (op->alone && !op->takes && op->encode_from == NULL)
        op->failing_until_us = clock_mono() + FAILING_US;
}

bool failing_is(const struct op *op) {
    return op->failing_until_us != 0 && clock_mono() < op->failing_until_us;
}

static bool failing_is_due(const struct op *op, enum conn_kind kind) {
    return op->conn == kind && failing_is(op) && !op->contention.on;
}

static struct op *failing_next(enum conn_kind kind, size_t from) {
    for (struct op *op = task_queue_next(from); op != NULL; op = task_queue_next(op->place + 1U))
        if (failing_is_due(op, kind))
            return op;
    return from > 0 ? failing_next(kind, 0) : NULL;
}

/* Each transaction has one task. With several, a task that fails would hold back those in front of it. */
void failing_append(struct txn *f) {
    struct op *op = failing_next(f->db->kind, next_place);

    if (op == NULL)
        return;
    next_place = op->place + 1U;
    if (op->conn != CONN_READ)
        db_begin(f->db, txn_durability(op->commit));
    (void)txn_encode_first(f, op, 1);
    txn_finish_statement(f, op, op->stmt, op->done);
}
