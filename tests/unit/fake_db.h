#ifndef FAKE_DB_H
#define FAKE_DB_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "batch/batch.h"
#include "config/config.h"
#include "pg/apart_flush.h"
#include "pg/db.h"

/* Connections without a database: db.h, for the single file of a test program that includes this. The test reads the
 * sent statements, and ends each transaction as it wants, the oldest first. */
struct fake_statement {
    enum sql_stmt stmt;
    size_t rows;
    int columns;
    struct slice column[PARAMS_MAX]; /* as sent, binary; the pointer is NULL for a scalar that is null */
};

#define FAKE_CONNS 4

static struct {
    struct db_conn *conns[FAKE_CONNS];
    size_t conn_count;
    struct fake_statement sent[FAKE_CONNS][DB_MAX_TXNS][DB_MAX_STATEMENTS];
    int64_t
        took_us[DB_MAX_STATEMENTS]; /* of the statements of the next transaction that ends, if it is timed */
    size_t asked_rows;              /* of the last flush_apart_ask() */
    bool send_fails;                /* the connection is found broken by the next db_send() */
} fake_db;

static inline size_t fake_conn_index(const struct db_conn *conn) {
    for (size_t i = 0; i < fake_db.conn_count; i++)
        if (fake_db.conns[i] == conn)
            return i;
    fail();
    return 0;
}

struct db_conn *db_conn_new(const char *name, enum conn_kind kind) {
    struct db_conn *conn = xcalloc(1, sizeof *conn);

    conn->name = name;
    conn->kind = kind;
    conn->state = DB_READY;
    assert_true(fake_db.conn_count < FAKE_CONNS);
    fake_db.conns[fake_db.conn_count++] = conn;
    return conn;
}

/* The place of transaction n of those under way, from the oldest on. After these comes the transaction that is being
 * filled. */
static inline size_t fake_place(const struct db_conn *conn, size_t n) {
    return (conn->oldest + n) % DB_MAX_TXNS;
}

static inline void fake_forget(struct db_conn *conn, size_t place) {
    struct fake_statement *sent = fake_db.sent[fake_conn_index(conn)][place];

    for (size_t i = 0; i < conn->txns[place].sent; i++)
        for (int k = 0; k < sent[i].columns; k++)
            free((char *)sent[i].column[k].ptr);
    conn->txns[place].sent = 0;
    conn->txns[place].timed = false;
}

/* As if nothing had ever been sent. */
static inline void fake_forget_txns(struct db_conn *conn) {
    for (size_t i = 0; i < DB_MAX_TXNS; i++)
        fake_forget(conn, i);
    params_reset(&conn->params);
    conn->sent_txns = 0;
    conn->open = false;
    conn->unflushed = 0;
    conn->state = DB_READY;
}

void db_stop(void) {
}

void db_conn_free(struct db_conn *conn) {
    size_t i = fake_conn_index(conn);

    fake_forget_txns(conn);
    fake_db.conns[i] = fake_db.conns[--fake_db.conn_count];
    memcpy(fake_db.sent[i], fake_db.sent[fake_db.conn_count], sizeof fake_db.sent[i]);
    params_free(&conn->params);
    free(conn);
}

bool db_disk_is_full(void) {
    return false;
}

struct params *db_params(struct db_conn *conn) {
    assert_true(db_has_room(conn) || db_takes_part(conn));
    return &conn->params;
}

void db_set_durability(struct db_conn *conn, enum durability durability) {
    conn->txns[fake_place(conn, conn->sent_txns)].durability = durability;
}

void flush_apart_ask(struct db_conn *conn, size_t rows) {
    assert_int_equal(conn->kind, CONN_WRITE);
    fake_db.asked_rows = rows;
}

void db_bound(struct db_conn *conn, struct db_bounds bounds) {
    conn->txns[fake_place(conn, conn->sent_txns)].bounds = bounds;
}

void db_time(struct db_conn *conn) {
    conn->txns[fake_place(conn, conn->sent_txns)].timed = true;
}

/* A test takes the snapshot by fake_take_snapshot(). */
void db_snapshot(struct db_conn *conn, void (*on_taken)(void)) {
    conn->txns[fake_place(conn, conn->sent_txns)].on_snapshot = on_taken;
}

static inline void fake_take_snapshot(struct db_conn *conn) {
    conn->txns[conn->oldest].on_snapshot();
}

void db_statement(struct db_conn *conn, enum sql_stmt stmt) {
    size_t place = fake_place(conn, conn->sent_txns - conn->open), at = conn->txns[place].sent++;
    struct fake_statement *s = &fake_db.sent[fake_conn_index(conn)][place][at];
    const char *values[PARAMS_MAX];
    int lengths[PARAMS_MAX], formats[PARAMS_MAX];

    assert_true((db_has_room(conn) || db_takes_part(conn)) && at < DB_MAX_STATEMENTS);
    params_finish(&conn->params, values, lengths, formats);
    *s = (struct fake_statement){ .stmt = stmt, .rows = conn->params.rows, .columns = conn->params.columns };
    for (int i = 0; i < s->columns; i++)
        if (values[i] != NULL)
            s->column[i] = (struct slice){ xmemdup(values[i], (size_t)lengths[i]), (size_t)lengths[i] };
    params_reset(&conn->params);
}

/* ---- the end of a transaction ---- */

/* The number of statements of the oldest transaction. 0: no transaction is under way. */
static inline size_t fake_count(const struct db_conn *conn) {
    return conn->sent_txns == 0 ? 0 : conn->txns[conn->oldest].sent;
}

static inline void fake_end_oldest(struct db_conn *conn, const struct db_result *result) {
    size_t place = conn->oldest;

    assert_true(conn->sent_txns > 0);
    conn->oldest = fake_place(conn, 1);
    conn->sent_txns--;
    conn->txns[place].on_completed(conn, result);
    fake_forget(conn, place);
}

/* The connection died, and with it all that was under way; db_conn.state tells when it is
 * there again. */
static inline void fake_lose_because(struct db_conn *conn, bool at_work) {
    assert_int_equal(conn->state, DB_BUSY);
    conn->state = DB_DOWN;
    conn->open = false;
    while (conn->sent_txns > 0) {
        struct db_result lost = {
            .outcome = DB_LOST, .count = fake_count(conn), .at_work = at_work, .error = { "", "" }
        };

        fake_end_oldest(conn, &lost);
        at_work = false;
    }
}

static inline void fake_lose(struct db_conn *conn) {
    fake_lose_because(conn, false);
}

/* The database ended the session while it executed the oldest transaction. */
static inline void fake_kill(struct db_conn *conn) {
    fake_lose_because(conn, true);
}

static inline void fake_end(struct db_conn *conn, const struct db_result *result) {
    assert_int_equal(conn->state, DB_BUSY);
    conn->state = conn->sent_txns > 1 ? DB_BUSY : DB_READY;
    fake_end_oldest(conn, result);
}

/* at: the statement that failed; fake_count(): the commit. */
static inline void fake_fail(struct db_conn *conn, size_t at, const char *sqlstate) {
    struct db_result failed = {
        .outcome = DB_FAILED, .count = fake_count(conn), .failed_at = at, .error = { sqlstate, "refused" }
    };

    fake_end(conn, &failed);
}

/* Takes the results; NULL: a result without rows. They are gone afterwards. */
static inline void fake_commit(struct db_conn *conn, PGresult **rows) {
    bool timed = conn->sent_txns > 0 && conn->txns[conn->oldest].timed;
    struct db_result done = { .outcome = DB_COMMITTED,
                              .count = fake_count(conn),
                              .rows = rows,
                              .took_us = timed ? fake_db.took_us : NULL };

    for (size_t i = 0; i < done.count; i++)
        if (rows[i] == NULL)
            rows[i] = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    fake_end(conn, &done);
    for (size_t i = 0; i < done.count; i++) {
        PQclear(rows[i]);
        rows[i] = NULL;
    }
}

static inline void fake_commit_empty(struct db_conn *conn) {
    PGresult *rows[DB_MAX_STATEMENTS] = { NULL };

    fake_commit(conn, rows);
}

void db_send(struct db_conn *conn, void (*on_completed)(struct db_conn *, const struct db_result *)) {
    struct db_txn *f = &conn->txns[fake_place(conn, conn->sent_txns - conn->open)];

    assert_true((db_has_room(conn) || db_takes_part(conn)) && f->sent > 0);
    f->on_completed = on_completed;
    conn->sent_txns += !conn->open;
    conn->open = false;
    conn->state = DB_BUSY;
    if (fake_db.send_fails)
        fake_lose(conn);
}

/* The test sets unflushed when the socket has taken the statement. */
void db_send_part(struct db_conn *conn, void (*on_completed)(struct db_conn *, const struct db_result *)) {
    assert_true(conn->open || conn->sent_txns == 0);
    db_send(conn, on_completed);
    conn->open = conn->sent_txns > 0;
    conn->unflushed = 1;
}

/* ---- sent statements ---- */

/* Statement i of transaction n under way. */
static inline const struct fake_statement *fake_sent_by(const struct db_conn *conn, size_t n, size_t i) {
    size_t place = fake_place(conn, n);

    assert_true(n < conn->sent_txns && i < conn->txns[place].sent);
    return &fake_db.sent[fake_conn_index(conn)][place][i];
}

static inline const struct fake_statement *fake_sent(const struct db_conn *conn, size_t i) {
    return fake_sent_by(conn, 0, i);
}

static inline int64_t fake_number(struct slice bytes) {
    int64_t value = bytes.len > 0 && (bytes.ptr[0] & 0x80) ? -1 : 0;

    for (size_t i = 0; i < bytes.len; i++)
        value = (int64_t)((uint64_t)value << 8 | (unsigned char)bytes.ptr[i]);
    return value;
}

/* An integer column, which was set once. */
static inline int64_t fake_scalar(const struct fake_statement *s, int col) {
    assert_true(col < s->columns);
    return fake_number(s->column[col]);
}

#define FAKE_ARRAY_HEADER 20

static inline size_t fake_elements(const struct fake_statement *s, int col) {
    assert_true(col < s->columns && s->column[col].len >= FAKE_ARRAY_HEADER);
    return (size_t)fake_number((struct slice){ s->column[col].ptr + 12, 4 });
}

/* An element of an array; the pointer is NULL when it is null. */
static inline struct slice fake_element_bytes(const struct fake_statement *st, int col, size_t index) {
    const char *at = st->column[col].ptr + FAKE_ARRAY_HEADER;

    assert_true(index < fake_elements(st, col));
    for (;; index--) {
        int64_t len = fake_number((struct slice){ at, 4 });

        if (index == 0)
            return len < 0 ? (struct slice){ NULL, 0 } : (struct slice){ at + 4, (size_t)len };
        at += 4 + (len < 0 ? 0 : len);
    }
}

static inline int64_t fake_element(const struct fake_statement *st, int col, size_t index) {
    return fake_number(fake_element_bytes(st, col, index));
}

/* ---- results ---- */

#define FAKE_COLUMNS 40

static inline PGresult *fake_rows(int columns) {
    PGresAttDesc attrs[FAKE_COLUMNS] = { 0 };
    PGresult *res = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);

    assert_true(columns <= FAKE_COLUMNS);
    for (int i = 0; i < columns; i++) {
        attrs[i].name = (char *)"column";
        attrs[i].format = 1;
    }
    assert_true(PQsetResultAttrs(res, columns, attrs));
    return res;
}

static inline void fake_set_bytes(PGresult *res, int row, int col, struct slice value) {
    assert_true(PQsetvalue(res, row, col, (char *)value.ptr, (int)value.len));
}

/* bytes: 2, 4 or 8. */
static inline void fake_set_int(PGresult *res, int row, int col, int bytes, int64_t value) {
    char wire[8];

    for (int i = 0; i < bytes; i++)
        wire[i] = (char)((uint64_t)value >> 8 * (bytes - 1 - i));
    fake_set_bytes(res, row, col, (struct slice){ wire, (size_t)bytes });
}

/* ---- the batch that uses them, from the first test to the last ---- */

static inline struct db_conn *fake_write_conn(void) {
    return fake_db.conns[0];
}

/* Opened for the first task of the connection. */
static inline struct db_conn *fake_large_conn(void) {
    assert_int_equal(fake_db.conn_count, 3);
    return fake_db.conns[2];
}

/* The write connection is lost. The tasks are sent again over the next one. */
static inline void fake_lose_and_repeat(void) {
    fake_lose(fake_write_conn());
    fake_write_conn()->state = DB_READY;
    clock_turn();
    batch_flush();
}

static inline void fake_no_plan(void) {
}

/* plan: of batch_init(), or NULL for a program without takes. */
static inline int fake_batch_start(struct op *const *ops, void (*plan)(void)) {
    config_defaults();
    batch_init(ops, plan != NULL ? plan : fake_no_plan);
    batch_start();
    return 0;
}

static inline int fake_batch_stop(void **state) {
    (void)state;
    batch_stop();
    return 0;
}

#endif
