#ifndef BATCH_TASKS_H
#define BATCH_TASKS_H

#include <stdio.h>
#include "base/clock.h"
#include "batch/batch.h"
#include "batch/commit_marker.h"
#include "config/config.h"
#include "fake_db.h"
#include "notes.h"

/* Operations for tests of the batch. a and b. c: every task is a statement of its own. s: on the read connection. r: an
 * e: as c. q: as c, on the read connection. a becomes an r if its transaction was lost. m: has a statement for tasks of the same shape. x: commits
 * asynchronously. y: is replicated. l: on the large connection. d: its tasks are divided there. The log has the events
 * of tasks: "done:a1,a2 fail:b1(22P02)". */
struct trial {
    struct task task;
    int id;
    char name;           /* of the operation it was made for */
    const char *refused; /* the SQLSTATE of its row, for tests that ask for it */
    int ends;
    const char *failed; /* the SQLSTATE it failed with, or NULL */
    bool gives_up;      /* again() ends it */
    bool marks;         /* it asks for a commit marker */
    int shape;          /* of an m; 0: no shape */
    bool decided;       /* of an m: its shape may be asked for */
};

static struct buf trial_log;
static int trial_encodes, trial_begins, trial_plans;
static void (*trial_plan)(void); /* called by the next plan */
static void (*trial_on_done)(struct trial *t);

static inline struct trial *trial_of(struct task *t) {
    return CONTAINER_OF(t, struct trial, task);
}

static inline void trial_begin(struct params *p) {
    assert_int_equal(p->rows, 0);
    params_set_bool(p, 1, true);
    trial_begins++;
}

static inline void trial_encode(struct params *p, struct task *t) {
    assert_int_equal(t->first_row, p->rows);
    assert_true(p->rows == 0 || !t->op->alone);
    assert_int_equal(t->state, TASK_QUEUED);
    if (trial_of(t)->marks)
        commit_marker_always(t);
    for (uint32_t i = 0; i < t->rows; i++)
        params_int8(p, 0, trial_of(t)->id);
    trial_encodes++;
}

static inline void trial_done(struct task **tasks, size_t count, const PGresult *rows) {
    assert_non_null(rows);
    for (size_t i = 0; i < count; i++) {
        struct trial *t = trial_of(tasks[i]);

        assert_int_equal(tasks[i]->state, TASK_IDLE);
        buf_printf(&trial_log, "%s%s%d", i == 0 ? " done:" : ",", t->task.op->name, t->id);
        t->ends++;
        if (trial_on_done != NULL)
            trial_on_done(t);
    }
}

static inline void trial_fail(struct task *task, const struct op_error *err) {
    struct trial *t = trial_of(task);

    assert_int_equal(task->state, TASK_IDLE);
    buf_printf(&trial_log, " fail:%s%d(%s)", t->task.op->name, t->id, err->sqlstate);
    t->ends++;
    t->failed = err->sqlstate;
}

static bool trial_again(struct task *task, bool unknown);

/* ---- tasks of the same shape ---- */

static inline bool trial_shape(const struct task *t, struct op_shape *shape) {
    const struct trial *m = CONTAINER_OF(t, const struct trial, task);

    assert_true(m->decided);
    *shape = (struct op_shape){ SQL_ADD_JOBS_ALIKE, m->shape / 10, m->shape % 10 };
    return m->shape != 0;
}

static inline void trial_alike_begin(struct params *p, struct task *first) {
    assert_int_equal(p->rows, 0);
    assert_int_equal(first->state, TASK_QUEUED);
    params_set_int4(p, 1, trial_of(first)->shape);
    trial_begins++;
}

static inline void trial_decide(struct task *t) {
    trial_of(t)->decided = true;
}

static inline void trial_alike_done(struct task **tasks, size_t count, const PGresult *rows) {
    buf_printf(&trial_log, " alike");
    trial_done(tasks, count, rows);
}

static const struct op_alike trial_alike = {
    .shape = trial_shape,
    .begin = trial_alike_begin,
    .decide = trial_decide,
    .encode = trial_encode,
    .done = trial_alike_done,
};

/* ---- the operations ---- */

#define TRIAL_OP(variable, text, where, single, statement, repeat) \
    static struct op variable = { .name = text,                    \
                                  .stmt = statement,               \
                                  .conn = where,                   \
                                  .alone = single,                 \
                                  .splittable = !(single),         \
                                  .begin = trial_begin,            \
                                  .encode = trial_encode,          \
                                  .done = trial_done,              \
                                  .fail = trial_fail,              \
                                  .again = repeat }

TRIAL_OP(op_a, "a", CONN_WRITE, false, SQL_ADD_JOBS, trial_again);
TRIAL_OP(op_r, "r", CONN_WRITE, false, SQL_ADD_MISSING, trial_again);
TRIAL_OP(op_b, "b", CONN_WRITE, false, SQL_ACK_JOBS, NULL);
TRIAL_OP(op_c, "c", CONN_WRITE, true, SQL_CLAIM_SCAN, trial_again);
TRIAL_OP(op_e, "e", CONN_WRITE, true, SQL_EDIT_DEAD, trial_again);
TRIAL_OP(op_s, "s", CONN_READ, false, SQL_SHOW_JOBS, NULL);
TRIAL_OP(op_q, "q", CONN_READ, true, SQL_PEEK_FIRST, NULL);
TRIAL_OP(op_m, "m", CONN_WRITE, false, SQL_REQUEUE_JOBS, NULL);

TRIAL_OP(op_x, "x", CONN_WRITE, false, SQL_RELEASE_JOBS, NULL);
TRIAL_OP(op_y, "y", CONN_WRITE, false, SQL_POSTPONE_JOBS, NULL);

TRIAL_OP(op_l, "l", CONN_LARGE, false, SQL_PUSH_IF_ANY, trial_again);

/* A divided operation: two rows in each statement. */
TRIAL_OP(op_d, "d", CONN_LARGE, false, SQL_SET_ELEMENT, trial_again);

static inline size_t trial_encode_from(struct params *p, struct task *t, size_t from) {
    size_t i = from;

    assert_int_equal(t->state, from == 0 ? TASK_QUEUED : TASK_SENT);
    for (; i < t->rows && i < from + 2; i++)
        params_int8(p, 0, trial_of(t)->id);
    trial_encodes++;
    return i;
}

static struct op *const trial_ops[] = { &op_a, &op_r, &op_b, &op_c, &op_e, &op_s, &op_q,
                                        &op_m, &op_x, &op_y, &op_l, &op_d, NULL };

static bool trial_again(struct task *task, bool unknown) {
    struct trial *t = trial_of(task);

    buf_printf(&trial_log, " again:%s%d%s", t->task.op->name, t->id, unknown ? "?" : "");
    assert_int_equal(task->state, TASK_IDLE);
    if (t->gives_up) {
        t->ends++;
        return false;
    }
    if (unknown && task->op == &op_a)
        task->op = &op_r;
    return true;
}

static inline void trial_planned(void) {
    trial_plans++;
    if (trial_plan != NULL)
        trial_plan();
}

/* The connections live as long as the program. */
#define WRITE 0
#define READ 1
#define LARGE 2 /* once it was needed */
#define LONG 3  /* once it was needed, after LARGE */

static inline int trial_group_start(void **state) {
    (void)state;
    config_defaults();
    op_m.alike = &trial_alike;
    op_d.encode_from = trial_encode_from;
    op_x.commit = COMMIT_ASYNC;
    op_y.commit = COMMIT_REPLICATED;
    op_c.phase = op_e.phase = op_q.phase = PHASE_LIST;
    batch_init(trial_ops, trial_planned);
    batch_start();
    return fake_db.conns[WRITE]->kind == CONN_WRITE && fake_db.conns[READ]->kind == CONN_READ ? 0 : -1;
}

static inline int trial_group_stop(void **state) {
    (void)state;
    batch_stop();
    buf_free(&trial_log);
    return fake_db.conn_count == 0 ? 0 : -1;
}

#define BAD_DATA "22P02"
#define BAD_COMMIT "23505"

#define TRIALS 400
static struct trial a[TRIALS], b[TRIALS], c[TRIALS], e[TRIALS], s[TRIALS], reads[TRIALS], m[TRIALS],
    x[TRIALS], y[TRIALS], large_trials[TRIALS], d[TRIALS];

static inline void trial_init(struct trial *t, struct op *op, int id) {
    *t = (struct trial){ .id = id, .name = op->name[0], .task = { .op = op, .rows = 1, .bytes = 10 } };
    fair_node_init(&t->task.turn);
}

static inline int trial_start(void **state) {
    (void)state;
    config_defaults();
    fake_db.send_fails = false;
    trial_encodes = trial_begins = trial_plans = 0;
    trial_plan = NULL;
    trial_on_done = NULL;
    batch_init(trial_ops, trial_planned);
    op_c.width = op_e.width = 16; /* as after several fast transactions */
    for (size_t i = 0; i < fake_db.conn_count; i++)
        fake_forget_txns(fake_db.conns[i]);
    for (int i = 0; i < TRIALS; i++) {
        trial_init(&a[i], &op_a, i);
        trial_init(&b[i], &op_b, i);
        trial_init(&c[i], &op_c, i);
        trial_init(&e[i], &op_e, i);
        trial_init(&s[i], &op_s, i);
        trial_init(&reads[i], &op_q, i);
        trial_init(&m[i], &op_m, i);
        trial_init(&x[i], &op_x, i);
        trial_init(&y[i], &op_y, i);
        trial_init(&large_trials[i], &op_l, i);
        trial_init(&d[i], &op_d, i);
    }
    buf_reset(&trial_log, SIZE_MAX);
    return 0;
}

static inline void add(struct trial *t) {
    batch_add(&t->task);
}

static inline void pass_time(int64_t us) {
    int64_t end = clock_mono_now() + us;

    while (clock_mono_now() < end)
        continue;
    clock_turn();
}

static inline void add_many(struct trial *pool, int from, int to) {
    for (int i = from; i <= to; i++)
        add(&pool[i]);
}

/* The place of the operation in trial_ops. */
static inline size_t trial_op_of(enum sql_stmt stmt) {
    size_t op = 0;

    if (stmt == SQL_ADD_JOBS_ALIKE)
        stmt = SQL_REQUEUE_JOBS;
    while (trial_ops[op]->stmt != stmt)
        assert_non_null(trial_ops[++op]);
    return op;
}

/* The ids in the statement; "1-4" for four and more that follow each other. */
static inline size_t trial_rows(char *text, size_t size, const struct fake_statement *st) {
    size_t len = 0;

    assert_int_equal(fake_elements(st, 0), st->rows);
    for (size_t n = 0, last; n < st->rows; n = last + 1) {
        int id = (int)fake_element(st, 0, n);

        for (last = n; last + 1 < st->rows && fake_element(st, 0, last + 1) == id + (int)(last + 1 - n);)
            last++;
        if (last - n < 3)
            last = n;
        len += (size_t)snprintf(text + len, size - len, "%s%d", n > 0 ? "," : "", id);
        if (last > n)
            len += (size_t)snprintf(text + len, size - len, "-%d", id + (int)(last - n));
        assert_true(len < size);
    }
    return len;
}

/* The statements of transaction n of connection i, from the oldest on: "a1,2 b1-9 m/7:1". A word is a statement, a
 * number is a row. The number behind a slash is the shape. */
static inline const char *trial_txn(size_t i, size_t n) {
    static char text[8192];
    const struct db_conn *conn = fake_db.conns[i];
    size_t len = 0, count = n < conn->sent_txns ? conn->txns[fake_place(conn, n)].sent : 0;

    text[0] = '\0';
    for (size_t k = 0; k < count; k++) {
        const struct fake_statement *st = fake_sent_by(conn, n, k);

        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", k > 0 ? " " : "",
                                trial_ops[trial_op_of(st->stmt)]->name);
        if (st->stmt == SQL_ADD_JOBS_ALIKE)
            len += (size_t)snprintf(text + len, sizeof text - len, "/%d:", (int)fake_scalar(st, 1));
        len += trial_rows(text + len, sizeof text - len, st);
    }
    return text;
}

/* The events since the last call. */
static inline const char *trial_events(void) {
    static char text[8192];

    return notes_take(&trial_log, text, sizeof text);
}

#define assert_txn(conn, expected) assert_string_equal(trial_txn(conn, 0), expected)
#define assert_second_txn(conn, expected) assert_string_equal(trial_txn(conn, 1), expected)
#define assert_events(expected) assert_string_equal(trial_events(), expected)

/* ---- how transactions end: the oldest; or, when the connection is lost, all ---- */

static inline void commit(size_t conn) {
    fake_commit_empty(fake_db.conns[conn]);
}

static inline void fail_at(size_t conn, size_t at, const char *sqlstate) {
    fake_fail(fake_db.conns[conn], at, sqlstate);
}

static inline void fail_commit(size_t conn, const char *sqlstate) {
    fake_fail(fake_db.conns[conn], fake_count(fake_db.conns[conn]), sqlstate);
}

static inline void lose(size_t conn) {
    fake_lose(fake_db.conns[conn]);
    fake_db.conns[conn]->state = DB_READY;
}

/* The session of the connection ends while the oldest transaction is executed. */
static inline void crash(size_t conn) {
    fake_kill(fake_db.conns[conn]);
    fake_db.conns[conn]->state = DB_READY;
}

static inline const struct trial *find_trial(enum sql_stmt stmt, int64_t id) {
    static const struct trial *const pools[] = { a, a, b, c, e, s, reads, m, x, y, large_trials, d };

    assert_true(id >= 0 && id < TRIALS);
    return &pools[trial_op_of(stmt)][id];
}

/* The first statement with a row that the database refuses with sqlstate. fake_count(connection) without such a
 * statement. */
static inline size_t find_refused(const struct db_conn *conn, const char *sqlstate) {
    for (size_t i = 0; i < fake_count(conn); i++) {
        const struct fake_statement *st = fake_sent(conn, i);

        for (size_t n = 0; n < st->rows; n++) {
            const struct trial *t = find_trial(st->stmt, fake_element(st, 0, n));

            if (t->refused != NULL && strcmp(t->refused, sqlstate) == 0)
                return i;
        }
    }
    return fake_count(conn);
}

static inline void end_txn_of(struct db_conn *conn) {
    size_t bad = find_refused(conn, BAD_DATA);

    if (bad < fake_count(conn))
        fake_fail(conn, bad, BAD_DATA);
    else if (find_refused(conn, BAD_COMMIT) < fake_count(conn))
        fake_fail(conn, fake_count(conn), BAD_COMMIT);
    else
        fake_commit_empty(conn);
}

/* Until nothing is left to be done; tells how many transactions that took. */
static inline int end_all_txns(void) {
    int txns = 0;

    for (batch_flush(); !batch_idle(); batch_flush()) {
        assert_true(txns < 1000);
        for (size_t i = 0; i < fake_db.conn_count; i++) {
            if (fake_db.conns[i]->state == DB_BUSY) {
                end_txn_of(fake_db.conns[i]);
                txns++;
            }
        }
    }
    return txns;
}

/* The next transaction of the write connection must be this, and is committed. */
static inline void assert_commits(const char *expected) {
    batch_flush();
    assert_txn(WRITE, expected);
    commit(WRITE);
}

static inline void assert_all_ended(void) {
    batch_flush();
    assert_txn(WRITE, "");
    assert_true(batch_idle());
    for (size_t i = 0; trial_ops[i] != NULL; i++)
        assert_int_equal(trial_ops[i]->queued, 0);
}

#endif
