/* Client transactions: sends the tasks between MULTI and EXEC together, and ends them. */
#include "batch/client_txn.h"

#include <string.h>

#include "base/clock.h"
#include "batch/contention.h"
#include "batch/lost_txn.h"
#include "batch/repeat.h"
#include "batch/task_queue.h"
#include "batch/txn.h"
#include "config/config.h"
#include "config/memory_budget.h"

#define MAX_FAILURES 5
/* If other tasks had to wait for a longer transaction of clients, they get the database for as long as it took. */
#define LONG_TXN_US (50 * US_PER_MS)

static struct list waiting_txns = { &waiting_txns, &waiting_txns };
/* clock_mono(): until then, client transactions that wait for a lock of another session are not sent. */
static int64_t resume_us;
/* clock_mono(): until then, client transactions give way to other tasks. */
static int64_t give_way_us;

void client_txns_init(void) {
    list_init(&waiting_txns);
    resume_us = give_way_us = 0;
}

bool client_txns_wait(void) {
    return !list_empty(&waiting_txns);
}

static struct client_txn *client_txn_first_waiting(void) {
    LIST_EACH(node, &waiting_txns) {
        struct client_txn *b = LIST_ENTRY(node, struct client_txn, node);

        if (b->blocked_us == 0 || clock_mono() >= resume_us)
            return b;
    }
    return NULL;
}

/* ---- statements ---- */

/* How many tasks from index `from` on share a statement. */
static size_t run_of(const struct client_txn *b, size_t from) {
    const struct op *op = b->tasks[from]->op;
    size_t rows = 0, bytes = 0, count = 0;

    do {
        rows += b->tasks[from + count]->rows;
        bytes += b->tasks[from + count]->bytes;
        count++;
    } while (op->shares && from + count < b->count && b->tasks[from + count]->op == op &&
             rows + b->tasks[from + count]->rows <= (size_t)config.batch_max &&
             bytes + b->tasks[from + count]->bytes <= (size_t)config.batch_max_bytes);
    return count;
}

size_t client_txn_statements(const struct client_txn *b) {
    size_t statements = 0;

    for (size_t at = 0; at < b->count; at += run_of(b, at))
        statements++;
    return statements;
}

size_t client_txn_size(const struct client_txn *b) {
    size_t bytes = 0;

    for (size_t i = 0; i < b->count; i++)
        bytes += task_size(b->tasks[i]);
    return bytes;
}

/* ---- sending ---- */

static void wait_for_turn(struct client_txn *b, bool in_front) {
    for (size_t i = 0; i < b->count; i++)
        b->tasks[i]->state = TASK_QUEUED;
    if (in_front)
        list_push_front(&waiting_txns, &b->node);
    else
        list_push_back(&waiting_txns, &b->node);
    task_queue_count_client_txns((long)b->count);
}

void client_txn_send(struct client_txn *b) {
    list_init(&b->lost.node);
    wait_for_turn(b, false);
}

static void client_txn_append_task(struct txn *f, struct client_txn *b) {
    list_remove(&b->node);
    task_queue_count_client_txns(-(long)b->count);
    for (size_t at = 0; at < b->count;) {
        size_t count = run_of(b, at);

        txn_append_statement(f, b->tasks[at]->op, b, &b->tasks[at], count);
        at += count;
    }
}

/* True if b may share the transaction. A client transaction that failed must not fail others. One statement
 * is kept free for the commit marker. */
static bool may_join(const struct txn *f, const struct client_txn *first, const struct client_txn *b) {
    return b != NULL && !b->alone && b->commit == first->commit &&
           f->part_count + client_txn_statements(b) < DB_MAX_STATEMENTS &&
           f->task_count + b->count <= (size_t)config.batch_max && txn_has_room(f, client_txn_size(b));
}

/* The results of a transaction, and the replies that are made of them, must fit into maxmemory. Each statement may have
 * batch-max-bytes. */
static size_t results_most(void) {
    size_t pages = 2 * (size_t)config.batch_max_bytes;

    if (memory_budget == SIZE_MAX)
        return OP_MAX_BYTES;
    return memory_budget / 4 > pages ? memory_budget / 4 : pages;
}

void client_txns_append(struct txn *f) {
    struct client_txn *first = client_txn_first_waiting(), *next;

    if (first == NULL || clock_mono() < give_way_us)
        return;
    f->is_client_txn = true;
    db_begin(f->db, txn_durability(first->commit));
    db_bound(f->db, (struct db_bounds){ .result_bytes = results_most(),
                                        .busy_us = config.transaction_timeout * (int64_t)US_PER_S });
    commit_marker_always(first->tasks[0]);
    for (next = first; next != NULL;) {
        client_txn_append_task(f, next);
        next = client_txn_first_waiting();
        if (first->alone || !may_join(f, first, next))
            break;
    }
}

/* ---- ends ---- */

void client_txns_note_time(const struct txn *f) {
    int64_t took_us = clock_mono() - f->sent_us;
    bool others_wait = f->db->sent_txns > 0 || !task_queue_is_empty();

    if (took_us > LONG_TXN_US && others_wait)
        give_way_us = clock_mono() + took_us;
}

static void client_txn_leave(struct task *t) {
    t->client_txn = NULL;
    t->state = TASK_IDLE;
}

/* b may be freed when its last task fails, so it is not read after that. */
static void fail_all(const struct client_txn *b, const struct op_error *error) {
    struct task **tasks = b->tasks;
    size_t count = b->count;

    for (size_t i = 0; i < count; i++) {
        client_txn_leave(tasks[i]);
        task_fail(tasks[i], error);
    }
}

void client_txn_refuse(struct client_txn *b, const struct op_error *error) {
    fail_all(b, error);
}

void client_txns_committed(struct txn *f, PGresult *const *rows) {
    const struct client_txn *last = NULL;

    for (size_t i = 0; i < f->part_count; i++) {
        struct part *part = &f->parts[i];

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
static void wait_again(struct client_txn *b, bool in_front) {
    for (size_t i = b->count; i-- > 0;) {
        struct task *t = b->tasks[i];

        t->state = TASK_IDLE;
        if (t->op->again != NULL)
            (void)t->op->again(t, false);
    }
    wait_for_turn(b, in_front);
}

static void client_txn_send_again(struct client_txn *b) {
    wait_again(b, true);
}

static void send_again_alone(struct client_txn *b) {
    b->alone = true;
    client_txn_send_again(b);
}

/* Calls fn for each client transaction of f, the last first, so that the order is kept. */
static void each_client_txn(const struct txn *f, void (*fn)(struct client_txn *b)) {
    for (size_t i = f->part_count; i-- > 0;) {
        struct client_txn *b = f->parts[i].client_txn;

        if (b != NULL && (i == 0 || f->parts[i - 1].client_txn != b))
            fn(b);
    }
}

static bool carries_several(const struct txn *f) {
    for (size_t i = 1; i < f->part_count; i++)
        if (f->parts[i].client_txn != NULL && f->parts[i].client_txn != f->parts[0].client_txn)
            return true;
    return false;
}

/* True if a repetition may succeed. 23502 (not null): another session inserted the key of an ADDJOB UNIQUE
 * while the statement ran (add.c). */
static bool may_pass(const char *sqlstate) {
    return repeat_is_transient(sqlstate) || strcmp(sqlstate, "23502") == 0;
}

static void refuse(struct client_txn *b, const struct op_error *error) {
    b->on_end(b, CLIENT_TXN_REFUSED, error);
    fail_all(b, error);
}

/* The client transaction, sent without others, needs a row or table that another session has locked. It
 * waits behind the others. */
static void blocked(struct client_txn *b) {
    resume_us = clock_mono() + CONTENTION_PAUSE_US;
    if (contention_is_over(&b->blocked_us))
        refuse(b, &contention_error);
    else
        wait_again(b, false);
}

void client_txns_failed(struct txn *f, const struct op_error *error) {
    struct client_txn *b = f->parts[0].client_txn;
    bool again;

    if (contention_is(error->sqlstate) && !carries_several(f)) {
        blocked(b);
        return;
    }
    again = carries_several(f) || (may_pass(error->sqlstate) && ++b->failures < MAX_FAILURES);
    if (again)
        each_client_txn(f, send_again_alone);
    else
        refuse(b, error);
}

/* ---- lost transactions ---- */

static void answers_lost(struct client_txn *b) {
    struct task **tasks = b->tasks;
    size_t count = b->count;

    b->on_end(b, CLIENT_TXN_ANSWERS_LOST, NULL);
    for (size_t i = 0; i < count; i++) {
        client_txn_leave(tasks[i]);
        batch_answer_lost(tasks[i]);
    }
}

static void client_txn_end_unknown(struct client_txn *b) {
    struct op_error error = { "08007", "the connection was lost before the answer came" };

    b->on_end(b, CLIENT_TXN_UNKNOWN, &error);
    fail_all(b, &error);
}

static void on_client_txn_known(struct lost_task *l, enum commit_fate fate) {
    struct client_txn *b = CONTAINER_OF(l, struct client_txn, lost);

    if (fate == COMMIT_DONE)
        answers_lost(b);
    else if (b->exceeded != NULL)
        refuse(b, b->exceeded);
    else if (batch_lost_too_often("transaction of a client", b->lost_alone))
        refuse(b, &batch_lost_error);
    else if (fate == COMMIT_UNDONE)
        client_txn_send_again(b);
    else
        client_txn_end_unknown(b);
}

static void client_txn_ask(struct client_txn *b) {
    b->lost.on_known = on_client_txn_known;
    commit_marker_ask(&b->lost);
}

/* After a second loss, a client transaction is sent without others. */
static void client_txn_note_lost(struct client_txn *b) {
    b->times_lost++;
    b->alone = b->alone || b->times_lost > 1;
}

static void note_alone(struct client_txn *b) {
    b->alone = true;
}

static void note_lost_alone(struct client_txn *b) {
    b->lost_alone++;
    client_txn_note_lost(b);
}

void client_txns_lost(struct txn *f) {
    if (f->at_work)
        each_client_txn(f, carries_several(f) ? client_txn_note_lost : note_lost_alone);
    if (f->exceeded != NULL && carries_several(f))
        each_client_txn(f, note_alone);
    else
        f->parts[0].client_txn->exceeded = f->exceeded;
    for (size_t i = 0; i < f->part_count; i++)
        f->parts[i].client_txn->lost.txn = f->marker.txn;
    each_client_txn(f, client_txn_ask);
}
