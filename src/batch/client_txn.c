/* Client transactions: sends the tasks between MULTI and EXEC together, and ends them. */
#include "batch/client_txn.h"

#include <string.h>

#include "base/clock.h"
#include "batch/contention.h"
#include "batch/lost_txn.h"
#include "batch/repeat.h"
#include "batch/separate.h"
#include "batch/task_queue.h"
#include "batch/txn.h"
#include "config/config.h"
#include "config/memory_budget.h"

#define MAX_FAILURES 5
/* If other tasks had to wait for a longer transaction of clients, they get the database for as long as it took. */
#define LONG_TXN_US (50 * US_PER_MS)

static struct fair_list waiting_txns;
/* clock_mono(): until then, client transactions that wait for a lock of another session are not sent. */
static int64_t resume_us;
/* clock_mono(): until then, client transactions give way to other tasks. */
static int64_t give_way_us;

void client_txns_init(void) {
    fair_list_init(&waiting_txns);
    resume_us = give_way_us = 0;
}

bool client_txns_wait(void) {
    return !fair_list_is_empty(&waiting_txns);
}

static struct client_txn *client_txn_first_waiting(void) {
    LIST_EACH(node, &waiting_txns.nodes) {
        struct client_txn *ct = LIST_ENTRY(node, struct client_txn, turn.node);

        if (ct->blocked_us == 0 || clock_mono() >= resume_us)
            return ct;
    }
    return NULL;
}

/* ---- statements ---- */

/* The hashes of the tasks of a statement: op.differs_by. */
struct run_hashes {
    uint64_t bits[64];
};

/* False if a task of the statement may have the same value. Different values with one hash only cost a statement. */
static bool run_hash_add(struct run_hashes *h, const struct task *t) {
    uint64_t *word, bit;
    unsigned hash;
    bool is_new;

    if (t->op->differs_by == NULL)
        return true;
    hash = t->op->differs_by(t) % (64 * LENGTH(h->bits));
    word = &h->bits[hash / 64];
    bit = UINT64_C(1) << hash % 64;
    is_new = (*word & bit) == 0;
    *word |= bit;
    return is_new;
}

/* How many tasks from index `from` on share a statement. */
static size_t run_of(const struct client_txn *ct, size_t from) {
    const struct op *op = ct->tasks[from]->op;
    struct run_hashes hashes = { { 0 } };
    size_t rows = 0, bytes = 0, count = 0;

    (void)run_hash_add(&hashes, ct->tasks[from]);
    do {
        rows += ct->tasks[from + count]->rows;
        bytes += ct->tasks[from + count]->bytes;
        count++;
    } while (op->shares && from + count < ct->count && ct->tasks[from + count]->op == op &&
             rows + ct->tasks[from + count]->rows <= txn_rows_most(op) &&
             bytes + ct->tasks[from + count]->bytes <= (size_t)config.batch_max_bytes &&
             run_hash_add(&hashes, ct->tasks[from + count]));
    return count;
}

size_t client_txn_statements(const struct client_txn *ct) {
    size_t statements = 0;

    for (size_t at = 0; at < ct->count; at += run_of(ct, at))
        statements++;
    return statements;
}

size_t client_txn_rows(const struct client_txn *ct) {
    size_t rows = 0;

    for (size_t i = 0; i < ct->count; i++)
        rows += ct->tasks[i]->rows;
    return rows;
}

size_t client_txn_size(const struct client_txn *ct) {
    size_t bytes = 0;

    for (size_t i = 0; i < ct->count; i++)
        bytes += task_size(ct->tasks[i]);
    return bytes;
}

static size_t client_txn_cost(const struct client_txn *ct) {
    size_t cost = 0;

    for (size_t i = 0; i < ct->count; i++)
        cost += task_cost(ct->tasks[i]);
    return cost;
}

/* ---- sending ---- */

static void wait_for_turn(struct client_txn *ct, bool in_front) {
    for (size_t i = 0; i < ct->count; i++)
        ct->tasks[i]->state = TASK_QUEUED;
    if (in_front)
        fair_put_back(&waiting_txns, &ct->turn);
    else
        fair_add(&waiting_txns, &ct->turn, client_txn_cost(ct));
    task_queue_count_client_txns((long)ct->count);
}

void client_txn_send(struct client_txn *ct) {
    list_init(&ct->lost.node);
    wait_for_turn(ct, false);
}

static void client_txn_append(struct txn *txn, struct client_txn *ct) {
    fair_take(&ct->turn);
    txn->cost += client_txn_cost(ct);
    task_queue_count_client_txns(-(long)ct->count);
    for (size_t at = 0; at < ct->count;) {
        size_t count = run_of(ct, at);

        txn_append_statement(txn, ct->tasks[at]->op, ct, &ct->tasks[at], count);
        at += count;
    }
}

/* True if ct may share the transaction. A client transaction that failed must not fail others, and one that reads much must
 * not delay them. One statement is kept free for the commit marker. */
static bool may_join(const struct txn *txn, const struct client_txn *first, const struct client_txn *ct) {
    return ct != NULL && !ct->alone && ct->commit == first->commit &&
           txn->part_count + client_txn_statements(ct) < DB_MAX_STATEMENTS &&
           txn->task_count + ct->count <= (size_t)config.batch_max &&
           txn_has_room(txn, client_txn_size(ct)) && txn->cost + client_txn_cost(ct) <= COST_MOST;
}

/* The results of a transaction, and the replies that are made of them, must fit into maxmemory. Each statement may have
 * batch-max-bytes. */
static size_t results_most(void) {
    size_t pages = 2 * (size_t)config.batch_max_bytes;

    if (memory_budget == SIZE_MAX)
        return OP_MAX_BYTES;
    return memory_budget / 4 > pages ? memory_budget / 4 : pages;
}

void client_txns_append(struct txn *txn) {
    struct client_txn *first = client_txn_first_waiting(), *next;

    if (first == NULL || clock_mono() < give_way_us)
        return;
    txn->is_client_txn = true;
    txn_set_commit(txn, first->commit);
    db_bound(txn->db, (struct db_bounds){ .result_bytes = results_most(),
                                          .busy_us = config.transaction_timeout * (int64_t)US_PER_S });
    commit_marker_always(first->tasks[0]);
    for (next = first; next != NULL;) {
        client_txn_append(txn, next);
        next = client_txn_first_waiting();
        if (first->alone || !may_join(txn, first, next))
            break;
    }
}

/* ---- ends ---- */

void client_txns_note_time(const struct txn *txn) {
    int64_t took_us = clock_mono() - txn->sent_us;
    bool others_wait = txn->db->sent_txns > 0 || !task_queue_is_empty();

    if (took_us > LONG_TXN_US && others_wait)
        give_way_us = clock_mono() + took_us;
}

static void client_txn_leave(struct task *t) {
    t->client_txn = NULL;
    t->state = TASK_IDLE;
}

/* ct may be freed when its last task fails, so it is not read after that. */
static void fail_all(const struct client_txn *ct, const struct op_error *error) {
    struct task **tasks = ct->tasks;
    size_t count = ct->count;

    for (size_t i = 0; i < count; i++) {
        client_txn_leave(tasks[i]);
        task_fail(tasks[i], error);
    }
}

void client_txn_refuse(struct client_txn *ct, const struct op_error *error) {
    fail_all(ct, error);
}

void client_txns_committed(struct txn *txn, PGresult *const *rows) {
    const struct client_txn *last = NULL;

    for (size_t i = 0; i < txn->part_count; i++) {
        struct part *part = &txn->parts[i];

        if (part->client_txn != NULL && part->client_txn != last)
            part->client_txn->on_end(part->client_txn, CLIENT_TXN_COMMITTED, NULL);
        last = part->client_txn;
        for (size_t k = 0; k < part->count; k++)
            part->tasks[k]->client_txn = NULL;
        txn_end_part(part, rows[i]);
    }
}

/* op.again undoes what was prepared for the first try. Its result is ignored, because no task of a client
 * transaction is given up. */
static void wait_again(struct client_txn *ct, bool in_front) {
    for (size_t i = ct->count; i-- > 0;) {
        struct task *t = ct->tasks[i];

        t->state = TASK_IDLE;
        if (t->op->again != NULL)
            (void)t->op->again(t, false);
    }
    wait_for_turn(ct, in_front);
}

static void client_txn_send_again(struct client_txn *ct) {
    wait_again(ct, true);
}

static void send_again_alone(struct client_txn *ct) {
    ct->alone = true;
    client_txn_send_again(ct);
}

/* Calls fn for each client transaction of txn, the last first, so that the order is kept. */
static void each_client_txn(const struct txn *txn, void (*fn)(struct client_txn *ct)) {
    for (size_t i = txn->part_count; i-- > 0;) {
        struct client_txn *ct = txn->parts[i].client_txn;

        if (ct != NULL && (i == 0 || txn->parts[i - 1].client_txn != ct))
            fn(ct);
    }
}

static bool carries_several(const struct txn *txn) {
    for (size_t i = 1; i < txn->part_count; i++)
        if (txn->parts[i].client_txn != NULL && txn->parts[i].client_txn != txn->parts[0].client_txn)
            return true;
    return false;
}

/* True if a repetition may succeed. OP_KEY_TAKEN: another session takes the key of an ADDJOB UNIQUE
 * while the statement runs (add.c). The same can happen to a predecessor and to a batch. */
static bool may_pass(const char *sqlstate) {
    static const char *const states[] = { OP_KEY_TAKEN, OP_NO_PREDECESSOR, OP_NO_BATCH };

    for (size_t i = 0; i < LENGTH(states); i++)
        if (strcmp(sqlstate, states[i]) == 0)
            return true;
    return repeat_is_transient(sqlstate);
}

static void refuse(struct client_txn *ct, const struct op_error *error) {
    ct->on_end(ct, CLIENT_TXN_REFUSED, error);
    fail_all(ct, error);
}

/* True if another session has locked a row or a table, or is taking a key. Most sessions that take a key have ended by the
 * second try. */
static bool waits_for_session(const struct client_txn *ct, const char *sqlstate) {
    return contention_is(sqlstate) || (strcmp(sqlstate, OP_KEY_TAKEN) == 0 && ct->failures > 0);
}

/* The client transaction, sent without others, needs something that another session has. It waits behind the others. */
static void blocked(struct client_txn *ct) {
    resume_us = clock_mono() + CONTENTION_PAUSE_US;
    if (lock_patience_is_over(&ct->blocked_us))
        refuse(ct, &contention_error);
    else
        wait_again(ct, false);
}

void client_txns_failed(struct txn *txn, const struct op_error *error) {
    struct client_txn *ct = txn->parts[0].client_txn;
    bool again;

    if (!carries_several(txn) && waits_for_session(ct, error->sqlstate)) {
        blocked(ct);
        return;
    }
    again = carries_several(txn) || (may_pass(error->sqlstate) && ++ct->failures < MAX_FAILURES);
    if (again)
        each_client_txn(txn, send_again_alone);
    else
        refuse(ct, error);
}

/* ---- lost transactions ---- */

static void answers_lost(struct client_txn *ct) {
    struct task **tasks = ct->tasks;
    size_t count = ct->count;

    ct->on_end(ct, CLIENT_TXN_ANSWERS_LOST, NULL);
    for (size_t i = 0; i < count; i++) {
        client_txn_leave(tasks[i]);
        batch_answer_lost(tasks[i]);
    }
}

static void client_txn_end_unknown(struct client_txn *ct) {
    struct op_error error = { OP_RESULT_LOST, "the connection was lost before the answer came" };

    ct->on_end(ct, CLIENT_TXN_UNKNOWN, &error);
    fail_all(ct, &error);
}

static void on_client_txn_known(struct lost_task *l, enum commit_fate fate) {
    struct client_txn *ct = CONTAINER_OF(l, struct client_txn, lost);

    if (fate == COMMIT_DONE)
        answers_lost(ct);
    else if (ct->exceeded != NULL)
        refuse(ct, ct->exceeded);
    else if (batch_lost_too_often("transaction of a client", ct->lost_alone))
        refuse(ct, &batch_lost_error);
    else if (fate == COMMIT_UNDONE)
        client_txn_send_again(ct);
    else
        client_txn_end_unknown(ct);
}

static void client_txn_ask(struct client_txn *ct) {
    ct->lost.on_known = on_client_txn_known;
    commit_marker_ask(&ct->lost);
}

/* After a second loss, a client transaction is sent without others. */
static void client_txn_note_lost(struct client_txn *ct) {
    ct->times_lost++;
    ct->alone = ct->alone || ct->times_lost > 1;
}

static void note_alone(struct client_txn *ct) {
    ct->alone = true;
}

static void note_lost_alone(struct client_txn *ct) {
    ct->lost_alone++;
    client_txn_note_lost(ct);
}

void client_txns_lost(struct txn *txn) {
    if (txn->at_work)
        each_client_txn(txn, carries_several(txn) ? client_txn_note_lost : note_lost_alone);
    if (txn->exceeded != NULL && carries_several(txn))
        each_client_txn(txn, note_alone);
    else
        txn->parts[0].client_txn->exceeded = txn->exceeded;
    for (size_t i = 0; i < txn->part_count; i++)
        txn->parts[i].client_txn->lost.txn = txn->marker.txn;
    each_client_txn(txn, client_txn_ask);
}
