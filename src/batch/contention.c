/* Retries statements that need a row or a table which another session has locked. */
#include "batch/contention.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "batch/repeat.h"
#include "batch/task_queue.h"
#include "config/config.h"

/* Columns of a job's key. */
#define KEY_COLUMNS 3
/* Time between two checks of locked jobs. */
#define RECHECK_US (100 * US_PER_MS)
/* The pause after a task failed alone, times the number of such tasks in a row, at most STEPS_MOST. */
#define STEP_US (25 * US_PER_MS)
#define STEPS_MOST 9

const struct op_error contention_error = {
    OP_LOCKED, "another session holds a lock on a row or a table that is needed"
};

static struct {
    struct op *const *ops;
    size_t op_count;
    size_t contended; /* contended operations */
    struct {
        int64_t resume_us; /* clock_mono(): until then, no operation is tried */
        size_t next;       /* index in ops of the operation that is tried next */
    } conns[CONN_KINDS];
} contention;

void contention_init(struct op *const *ops) {
    memset(&contention, 0, sizeof contention);
    contention.ops = ops;
    for (; ops[contention.op_count] != NULL; contention.op_count++)
        ops[contention.op_count]->contention = (struct contention){ 0 };
}

bool contention_is(const char *sqlstate) {
    return strcmp(sqlstate, OP_LOCKED) == 0;
}

static void contention_begin(struct op *op) {
    if (!op->contention.on)
        contention.contended++;
    op->contention.on = true;
}

static void end_if_empty(struct op *op) {
    if (!op->contention.on || !fair_list_is_empty(&op->queue))
        return;
    contention.contended--;
    op->contention = (struct contention){ 0 };
}

/* ---- timeouts ---- */

bool lock_patience_is_over(int64_t *since) {
    if (*since == 0)
        *since = clock_mono();
    return clock_mono() - *since >= config.lock_patience * US_PER_S;
}

/* Queues t behind the other tasks of its operation, or fails it after lock-patience. */
static void wait_behind(struct task *t) {
    t->state = TASK_IDLE;
    if (t->op->again != NULL && !t->op->again(t, false))
        return;
    t->group_size = 0;
    if (lock_patience_is_over(&t->blocked_us))
        task_give_up(t, &contention_error);
    else
        task_queue_add_last(t);
}

/* Fails the queued tasks of the operation that have waited for lock-patience. */
static void give_up_queued(struct op *op) {
    struct list over = { &over, &over };

    LIST_EACH_SAFE(node, &op->queue.nodes) {
        struct task *t = task_of_node(node);

        op->contention.blocked += t->blocked_us == 0;
        if (!lock_patience_is_over(&t->blocked_us))
            continue;
        task_queue_remove(t);
        list_push_back(&over, node);
    }
    while (!list_empty(&over))
        task_give_up(task_of_node(list_pop_front(&over)), &contention_error);
}

/* ---- attempts ---- */

static bool contention_is_due(const struct op *op, enum conn_kind conn, int64_t now) {
    return op->contention.on && op->conn == conn && !fair_list_is_empty(&op->queue) &&
           op->contention.resume_us <= now;
}

static struct op *next_op(enum conn_kind conn) {
    int64_t now = clock_mono();

    if (contention.contended == 0 || now < contention.conns[conn].resume_us)
        return NULL;
    for (size_t i = 0; i < contention.op_count; i++) {
        size_t at = (contention.conns[conn].next + i) % contention.op_count;

        if (contention_is_due(contention.ops[at], conn, now)) {
            contention.conns[conn].next = at + 1;
            return contention.ops[at];
        }
    }
    return NULL;
}

static void contention_check(struct txn *txn, struct op *op) {
    struct params *p = txn_encode_first(txn, op, SIZE_MAX);

    txn->checks = true;
    params_keep(p, KEY_COLUMNS);
    txn_finish_statement(txn, op, SQL_FIND_LOCKED, op->done);
}

static void attempt(struct txn *txn, struct op *op) {
    (void)txn_encode_first(txn, op, op->alone || op->contention.width == 0 ? 1 : op->contention.width);
    txn_finish_statement(txn, op, op->stmt, op->done);
}

void contention_append(struct txn *txn) {
    struct op *op = next_op(txn->db->kind);

    if (op == NULL)
        return;
    txn->contended = op;
    txn_set_commit(txn, op->commit);
    if (op->names_jobs)
        contention_check(txn, op);
    else
        attempt(txn, op);
}

/* ---- results ---- */

/* Tasks whose jobs are free are sent next, in one statement. The others wait. */
static void contention_checked(const struct part *part, const PGresult *rows) {
    bool *locked = xcalloc(part->count, sizeof *locked);
    size_t is_free = part->count;

    for (int i = 0; i < PQntuples(rows); i++) {
        size_t at = txn_task_of_ordinal(part->tasks, part->count, row_int4(rows, i, COL_FIND_LOCKED_ORDINAL));

        is_free -= !locked[at];
        locked[at] = true;
    }
    for (size_t i = part->count; i-- > 0;) {
        struct task *t = part->tasks[i];

        t->group_size = locked[i] ? 0 : (uint32_t)is_free;
        if (!locked[i])
            repeat_send(t, false);
    }
    for (size_t i = 0; i < part->count; i++)
        if (locked[i])
            wait_behind(part->tasks[i]);
    free(locked);
}

void contention_committed(struct txn *txn, PGresult *const *rows) {
    struct op *op = txn->contended;
    struct contention *c = &op->contention;

    contention.conns[op->conn].resume_us = 0;
    if (txn->checks) {
        contention_checked(&txn->parts[0], rows[0]);
        c->resume_us = op->queued == c->blocked ? clock_mono() + RECHECK_US : 0;
    } else {
        c->fails = 0;
        c->width = c->width < (size_t)config.batch_max ? c->width * 2 + 1 : c->width;
    }
    end_if_empty(op);
}

/* ---- failures ---- */

static void pause_conn(const struct op *op, unsigned steps) {
    contention.conns[op->conn].resume_us = clock_mono() + (steps < STEPS_MOST ? steps : STEPS_MOST) * STEP_US;
}

/* Sends the tasks of a part in front of the others, in statements of at most group_size; 0: of any number. */
static void part_send_again(const struct part *part, size_t group_size) {
    for (size_t i = part->count; i-- > 0;) {
        part->tasks[i]->group_size = (uint32_t)group_size;
        repeat_send(part->tasks[i], false);
    }
}

/* A job was locked after the check, or the lock is not on a job. */
static void failed_after_check(const struct part *part) {
    if (part->count == 1) {
        struct op *op = part->op;

        wait_behind(part->tasks[0]);
        op->contention.resume_us = clock_mono() + CONTENTION_PAUSE_US;
        return;
    }
    part_send_again(part, part->count / 2);
}

static void failed_alone(const struct part *part) {
    struct op *op = part->op;

    op->contention.width = 1;
    op->contention.fails++;
    pause_conn(op, op->contention.fails);
    wait_behind(part->tasks[0]);
    give_up_queued(op);
}

static void contend(const struct txn *txn, const struct part *part) {
    struct op *op = part->op;
    bool is_checked = part->tasks[0]->group_size > 0;

    contention_begin(op);
    if (op->names_jobs && txn->checks) {
        part_send_again(part, 0);
        pause_conn(op, STEPS_MOST);
        give_up_queued(op);
    } else if (op->names_jobs && is_checked) {
        failed_after_check(part);
    } else if (!op->names_jobs && part->count == 1) {
        failed_alone(part);
    } else {
        op->contention.width = part->count / 2;
        part_send_again(part, 0);
    }
    end_if_empty(op);
}

static void contention_send_again(const struct part *part) {
    for (size_t i = part->count; i-- > 0;)
        repeat_send(part->tasks[i], false);
}

/* If the commit marker waited too long, all parts are contended. */
void contention_failed(struct txn *txn, size_t statement_failed) {
    bool all = statement_failed >= txn->part_count;

    for (size_t i = txn->part_count; i-- > 0;) {
        struct part *part = &txn->parts[i];

        if (all || i == statement_failed)
            contend(txn, part);
        else
            contention_send_again(part);
    }
}
