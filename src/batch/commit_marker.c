/* Commit markers: each transaction inserts a row, which tells whether a lost transaction was committed. */
#include "batch/commit_marker.h"

#include <stdlib.h>

#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"

/* Bits of the number of a transaction within one run of the server. */
#define RUN_SHIFT 40

struct mark {
    struct task task;
    struct list in_marks;
    int64_t txn;
};

static struct {
    struct list marks;    /* struct mark of transactions that have not ended */
    struct mark *current; /* marker of the transaction that is being built */
    struct list lost;
    int64_t last;      /* last number given; 0: none in this run */
    int64_t forgotten; /* transactions with smaller numbers have no rows */
} txns = { .marks = { &txns.marks, &txns.marks }, .lost = { &txns.lost, &txns.lost } };

/* ---- writing ---- */

/* True if this server has peers. A peer that stopped without signing off counts, too. */
static bool has_others(void) {
    size_t known;

    (void)node_known(&known);
    return known > 1 || node_has_peers();
}

/* Greater than all numbers before, also of earlier runs. */
static int64_t next_number(void) {
    if (txns.last == 0)
        txns.last = (int64_t)node_self()->run << RUN_SHIFT;
    return ++txns.last;
}

int64_t commit_marker_begin(void) {
    struct mark *m = xcalloc(1, sizeof *m);

    m->txn = next_number();
    m->task.op = &op_mark_commit;
    m->task.rows = 1;
    list_init(&m->task.node);
    list_push_back(&txns.marks, &m->in_marks);
    txns.current = m;
    batch_add(&m->task);
    return m->txn;
}

int64_t commit_marker_always(void) {
    return txns.current != NULL ? txns.current->txn : commit_marker_begin();
}

int64_t commit_marker(void) {
    return txns.current != NULL || has_others() ? commit_marker_always() : 0;
}

static void mark_encode(struct params *p, struct task *t) {
    const struct mark *m = CONTAINER_OF(t, struct mark, task);

    txns.current = NULL;
    params_set_int2(p, 0, (int16_t)node_self()->number);
    params_set_int8(p, 1, m->txn);
}

static void mark_free(struct task *t) {
    struct mark *m = CONTAINER_OF(t, struct mark, task);

    list_remove(&m->in_marks);
    free(m);
}

static void mark_done(struct task **tasks, size_t count, const PGresult *rows) {
    (void)count;
    (void)rows;
    mark_free(tasks[0]);
}

static void mark_fail(struct task *t, const struct op_error *err) {
    (void)err;
    mark_free(t);
}

/* The next transaction gets a new marker with its own number. */
static bool mark_again(struct task *t, bool unknown) {
    (void)unknown;
    mark_free(t);
    return false;
}

struct op op_mark_commit = {
    .name = "mark_commit",
    .stmt = SQL_MARK_COMMIT,
    .conn = CONN_WRITE,
    .commit = COMMIT_ANY,
    .alone = true,
    .encode = mark_encode,
    .done = mark_done,
    .fail = mark_fail,
    .again = mark_again,
};

/* ---- reading ---- */

static struct task find = { .op = &op_find_commits, .rows = 1 };
static size_t asked; /* how many of transactions.lost the sent statement asks for */

static void ask(void) {
    if (find.state == TASK_IDLE && !list_empty(&txns.lost))
        batch_add(&find);
}

void commit_marker_ask(struct lost_task *l) {
    list_push_back(&txns.lost, &l->node);
    ask();
}

static void commit_marker_find_encode(struct params *p, struct task *t) {
    (void)t;
    asked = 0;
    params_set_int2(p, 0, (int16_t)node_self()->number);
    LIST_EACH(node, &txns.lost) {
        params_int8(p, 1, LIST_ENTRY(node, struct lost_task, node)->txn);
        asked++;
    }
}

static bool is_in(const PGresult *rows, int64_t txn) {
    for (int i = 0; i < PQntuples(rows); i++)
        if (row_int8(rows, i, 0) == txn)
            return true;
    return false;
}

/* Reports the commit status to the first `asked` lost tasks; rows: NULL if the query failed. Tasks that were
 * lost after the query was sent need another query. */
static void commit_marker_tell(const PGresult *rows) {
    for (; asked > 0; asked--) {
        struct lost_task *l = LIST_ENTRY(list_pop_front(&txns.lost), struct lost_task, node);

        l->on_known(l, rows == NULL ? COMMIT_UNKNOWN : is_in(rows, l->txn) ? COMMIT_DONE : COMMIT_UNDONE);
    }
    ask();
}

static void commit_marker_find_done(struct task **tasks, size_t count, const PGresult *rows) {
    (void)tasks;
    (void)count;
    commit_marker_tell(rows);
}

static void commit_marker_find_fail(struct task *t, const struct op_error *err) {
    (void)t;
    (void)err;
    commit_marker_tell(NULL);
}

struct op op_find_commits = {
    .name = "find_commits",
    .stmt = SQL_FIND_COMMITS,
    .conn = CONN_WRITE,
    .alone = true,
    .encode = commit_marker_find_encode,
    .done = commit_marker_find_done,
    .fail = commit_marker_find_fail,
};

/* ---- deletion ---- */

static struct task forget = { .op = &op_forget_commits, .rows = 1 };

static int64_t first_needed(void) {
    int64_t first = txns.last + 1;

    LIST_EACH(node, &txns.marks) {
        int64_t txn = LIST_ENTRY(node, struct mark, in_marks)->txn;

        first = txn < first ? txn : first;
    }
    LIST_EACH(node, &txns.lost) {
        int64_t txn = LIST_ENTRY(node, struct lost_task, node)->txn;

        first = txn < first ? txn : first;
    }
    return first;
}

void commit_marker_forget(void) {
    if (forget.state == TASK_IDLE && txns.last > 0 && first_needed() > txns.forgotten)
        batch_add(&forget);
}

static void commit_marker_forget_encode(struct params *p, struct task *t) {
    (void)t;
    txns.forgotten = first_needed();
    params_set_int2(p, 0, (int16_t)node_self()->number);
    params_set_int8(p, 1, txns.forgotten);
}

struct op op_forget_commits = {
    .name = "forget_commits",
    .stmt = SQL_FORGET_COMMITS,
    .conn = CONN_READ,
    .alone = true,
    .encode = commit_marker_forget_encode,
};
