/* Commit markers: each transaction inserts a row, which tells whether a lost transaction was committed. */
#include "batch/commit_marker.h"

#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"

/* Bits of the number of a transaction within one run of the server. */
#define RUN_SHIFT 40

static struct {
    struct list sent; /* struct commit_marker of transactions that have not ended, or of rows that are kept */
    struct list lost;
    int64_t current; /* number of the transaction that is being built, if it gets a marker; 0: it gets none */
    int64_t last;    /* last number given; 0: none in this run */
    int64_t forgotten;  /* transactions with smaller numbers have no rows */
    int64_t forgetting; /* the same after the statement that is sent */
    bool sql_changes;   /* sessions have changed jobs by the functions of sql/api */
} txns = { .sent = { &txns.sent, &txns.sent }, .lost = { &txns.lost, &txns.lost } };

/* ---- writing ---- */

/* True if this server has peers, or if sessions take jobs by SQL. A peer that stopped without leaving counts, too. */
static bool has_others(void) {
    size_t known;

    (void)node_known(&known);
    return known > 1 || node_has_peers() || txns.sql_changes;
}

/* Greater than all numbers before, also of earlier runs. */
static int64_t next_number(void) {
    if (txns.last == 0)
        txns.last = (int64_t)node_self()->run << RUN_SHIFT;
    return ++txns.last;
}

void commit_marker_always(struct task *t) {
    if (txns.current == 0)
        txns.current = next_number();
    t->marked = true;
}

void commit_marker(struct task *t) {
    if (txns.current != 0 || has_others())
        commit_marker_always(t);
}

bool commit_marker_write(struct commit_marker *m, struct params *p) {
    m->txn = txns.current;
    txns.current = 0;
    if (m->txn == 0)
        return false;
    list_push_back(&txns.sent, &m->node);
    params_set_int2(p, 0, (int16_t)node_self()->number);
    params_set_int8(p, 1, m->txn);
    return true;
}

int64_t commit_marker_further(void) {
    return txns.current == 0 ? 0 : next_number();
}

void commit_marker_keep(struct commit_marker *m) {
    list_push_back(&txns.sent, &m->node);
}

void commit_marker_end(struct commit_marker *m) {
    list_remove(&m->node);
}

/* ---- sessions that use SQL ---- */

static struct task look_for_sql = { .op = &op_sql_changes, .rows = 1 };

void commit_marker_look(void) {
    if (!txns.sql_changes)
        batch_add_idle(&look_for_sql);
}

static void sql_changes_done(struct task *t, const PGresult *rows) {
    (void)t;
    txns.sql_changes = row_bool(rows, 0, COL_SQL_CHANGES_WERE_MADE);
}

OPERATION(sql_changes, .alone = true, .on_end = sql_changes_done);

/* ---- reading ---- */

static struct task find_commits = { .op = &op_find_commits, .rows = 1 };
static size_t asked_commits; /* how many of txns.lost the sent statement asks for */

static void ask(void) {
    if (!list_empty(&txns.lost))
        batch_add_idle(&find_commits);
}

void commit_marker_ask(struct lost_task *l) {
    list_push_back(&txns.lost, &l->node);
    ask();
}

bool commit_markers_are_asked(void) {
    return !list_empty(&txns.lost);
}

static void commit_marker_find_encode(struct params *p, struct task *t) {
    (void)t;
    asked_commits = 0;
    params_set_int2(p, 0, (int16_t)node_self()->number);
    LIST_EACH(node, &txns.lost) {
        params_int8(p, 1, LIST_ENTRY(node, struct lost_task, node)->txn);
        asked_commits++;
    }
}

static bool is_in(const PGresult *rows, int64_t txn) {
    for (int i = 0; i < PQntuples(rows); i++)
        if (row_int8(rows, i, COL_FIND_COMMITS_TRANSACTION) == txn)
            return true;
    return false;
}

/* Reports the commit status to the first `asked` lost tasks; rows: NULL if the query failed. Tasks that were
 * lost after the query was sent need another query. */
static void commit_marker_tell(const PGresult *rows) {
    for (; asked_commits > 0; asked_commits--) {
        struct lost_task *l = LIST_ENTRY(list_pop_front(&txns.lost), struct lost_task, node);

        l->on_known(l, rows == NULL ? COMMIT_UNKNOWN : is_in(rows, l->txn) ? COMMIT_DONE : COMMIT_UNDONE);
    }
    ask();
}

static void commit_marker_find_done(struct task *t, const PGresult *rows) {
    (void)t;
    commit_marker_tell(rows);
}

static void commit_marker_find_fail(struct task *t, const struct op_error *err) {
    (void)t;
    (void)err;
    commit_marker_tell(NULL);
}

OPERATION(find_commits, .alone = true, .encode = commit_marker_find_encode, .on_end = commit_marker_find_done,
          .fail = commit_marker_find_fail);

/* ---- deletion ---- */

static struct task forget = { .op = &op_forget_commits, .rows = 1 };

static int64_t first_needed(void) {
    int64_t first = txns.last + 1;

    LIST_EACH(node, &txns.sent) {
        int64_t txn = LIST_ENTRY(node, struct commit_marker, node)->txn;

        first = txn < first ? txn : first;
    }
    LIST_EACH(node, &txns.lost) {
        int64_t txn = LIST_ENTRY(node, struct lost_task, node)->txn;

        first = txn < first ? txn : first;
    }
    return first;
}

void commit_marker_forget(void) {
    if (txns.last > 0 && first_needed() > txns.forgotten)
        batch_add_idle(&forget);
}

static void commit_marker_forget_begin(struct params *p) {
    txns.forgetting = first_needed();
    params_set_int2(p, 0, (int16_t)node_self()->number);
    params_set_int8(p, 1, txns.forgetting);
    params_set_int8(p, 2, txns.forgotten);
}

static void commit_marker_forget_done(struct task *t, const PGresult *rows) {
    (void)t;
    (void)rows;
    txns.forgotten = txns.forgetting;
}

OPERATION(forget_commits, .alone = true, .begin = commit_marker_forget_begin,
          .on_end = commit_marker_forget_done);
