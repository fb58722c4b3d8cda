/* Flushes apart: a second session flushes the log of transactions of CONN_WRITE. */
#include "pg/apart_flush.h"

#include <string.h>

#include "base/clock.h"
#include "base/stats.h"
#include "pg/db_connect.h"
#include "pg/db_private.h"

/* With flush-apart auto: a fence that takes less time does not pay. */
#define SLOW_FLUSH_US 700
/* A fence is measured again after this time. */
#define FLUSH_AGE_US (10 * US_PER_S)
/* A transaction with fewer rows takes much less time than its flush. */
#define ROWS_LEAST 20

static struct {
    int64_t sent_us;     /* clock_mono_now() when the last fence was sent */
    int64_t measured_us; /* clock_mono() when the last fence had committed; 0: never */
    int64_t took_us;     /* an estimate of its time */
    bool refused;        /* the database does not execute a fence */
} flush;

static bool flush_is_slow(void) {
    return flush.took_us >= SLOW_FLUSH_US;
}

/* With flush-apart always, one fence shows that the database executes fences. */
static bool flush_is_unknown(void) {
    return flush.measured_us == 0 ||
           (config.flush_apart == FLUSH_APART_AUTO && clock_mono() - flush.measured_us > FLUSH_AGE_US);
}

static bool may_pay(size_t rows) {
    if (config.flush_apart == FLUSH_APART_AUTO)
        return rows >= ROWS_LEAST;
    return config.flush_apart == FLUSH_APART_ALWAYS;
}

static bool flush_apart_pays(void) {
    return config.flush_apart == FLUSH_APART_ALWAYS || flush_is_slow();
}

static void measure_flush(void) {
    int64_t took = clock_mono_now() - flush.sent_us;

    /* A busy server reads the result of a fence late, so short times count more. */
    if (flush.measured_us == 0)
        flush.took_us = took;
    else
        flush.took_us += (took - flush.took_us) / (took < flush.took_us ? 2 : 8);
    flush.measured_us = clock_mono();
}

/* A standby that was promoted keeps its sessions, and one of the connections may not know its timeline yet. */
static bool flushes_for(const struct db_conn *flusher, const struct db_conn *conn) {
    return flusher->state >= DB_READY && flusher->fence == FENCE_NONE && conn->started != 0 &&
           flusher->started == conn->started && flusher->timeline == conn->timeline;
}

static void flusher_send(struct db_conn *flusher, enum durability durability,
                         void (*on_completed)(struct db_conn *, const struct db_result *)) {
    flush.sent_us = clock_mono_now();
    db_set_durability(flusher, durability);
    params_set_text(db_params(flusher), 0, durability_setting(durability));
    db_statement(flusher, SQL_FENCE);
    db_send(flusher, on_completed);
}

/* An error of class 57 is a cancel. Other errors would come again. */
static void on_measured(struct db_conn *flusher, const struct db_result *result) {
    (void)flusher;
    if (result->outcome == DB_LOST)
        return;
    if (result->outcome == DB_COMMITTED)
        measure_flush();
    else
        flush.refused |= strncmp(result->error.sqlstate, "57", 2) != 0;
    flush_apart_begin(db.conns[CONN_WRITE]);
}

/* True if a sent transaction is flushed apart. */
static bool needs_flusher(const struct db_conn *conn) {
    for (size_t i = 0; i < conn->sent_txns; i++)
        if (conn->txns[(conn->oldest + i) % DB_MAX_TXNS].flushed_apart)
            return true;
    return false;
}

/* If the flusher is lost, flush_apart_lost() may close conn. That must not happen while a transaction of conn is filled. */
static bool may_measure(const struct db_conn *flusher, const struct db_conn *conn) {
    return flusher->sent_txns == 0 && !needs_flusher(conn);
}

void flush_apart_ask(struct db_conn *conn, size_t rows) {
    struct db_conn *flusher = db.conns[CONN_FLUSH];
    struct db_txn *txn = conn_filled_txn(conn);

    if (txn->durability >= DURABILITY_ASYNC || !may_pay(rows) || flush.refused)
        return;
    if (flusher == NULL)
        flusher = db_conn_new("flush", CONN_FLUSH);
    if (!flushes_for(flusher, conn))
        return;
    if (flush_is_unknown() && may_measure(flusher, conn))
        flusher_send(flusher, txn->durability, on_measured);
    if (flush_is_unknown() || !flush_apart_pays())
        return;
    txn->flushed_apart = true;
    if (!send_durability(conn->pg, DURABILITY_ASYNC, true))
        conn->broken = true;
}

bool flush_apart_is_done(const struct db_conn *conn, const struct db_txn *txn) {
    return !txn->flushed_apart || txn->failed || conn->arrivals - conn->arrived < conn->flushed;
}

/* The strongest durability of the arrived transactions that no fence contains; DURABILITY_ASYNC: there is none. */
static enum durability needed(const struct db_conn *conn) {
    enum durability most = DURABILITY_ASYNC;
    uint64_t number = conn->arrivals - conn->arrived;

    for (size_t i = 0; i < conn->arrived; i++) {
        const struct db_txn *txn = &conn->txns[(conn->oldest + i) % DB_MAX_TXNS];

        if (++number > conn->flushing && txn->flushed_apart && !txn->failed && txn->durability < most)
            most = txn->durability;
    }
    return most;
}

void flush_apart_lost(const char *why) {
    struct db_conn *conn = db.conns[CONN_WRITE];

    if (needs_flusher(conn))
        conn_down(conn, why);
}

static void on_apart_flushed(struct db_conn *flusher, const struct db_result *result) {
    struct db_conn *conn = db.conns[CONN_WRITE];

    (void)flusher;
    if (result->outcome == DB_FAILED)
        flush_apart_lost("the flush of its transactions by another session failed");
    if (result->outcome != DB_COMMITTED)
        return;
    measure_flush();
    conn->flushed = conn->flushing;
    conn_go_on(conn);
    flush_apart_begin(conn);
}

void flush_apart_begin(struct db_conn *conn) {
    struct db_conn *flusher = db.conns[CONN_FLUSH];
    enum durability durability = needed(conn);

    if (durability == DURABILITY_ASYNC || flusher->sent_txns > 0)
        return;
    conn->flushing = conn->arrivals;
    stats.flushes_apart++;
    flusher_send(flusher, durability, on_apart_flushed);
}

void flush_apart_stop(void) {
    if (db.conns[CONN_FLUSH] != NULL)
        db_conn_free(db.conns[CONN_FLUSH]);
}
