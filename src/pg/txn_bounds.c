/* The bounds of a transaction: the bytes of its results, and the time that it keeps the database busy. */
#include "pg/txn_bounds.h"

#include "base/clock.h"
#include "pg/db_private.h"
#include "pg/session.h"

/* A cancel that comes too late fails the next transaction, which is sent again. */
static void on_cancelled(void *arg, enum probe_outcome outcome, const PGresult *res) {
    (void)arg;
    (void)outcome;
    (void)res;
}

static void cancel_session(struct db_conn *conn) {
    if (!probe_is_running(&conn->canceller))
        probe_start(&conn->canceller, db.base, session_connect(conn->host, "cancel"), sql_cancel,
                    session_name(conn->name).text, on_cancelled, conn);
}

static void exceed(struct db_conn *conn, struct db_txn *txn, enum db_bound bound) {
    txn->exceeded = bound;
    cancel_session(conn);
}

/* The loss of the connection also costs the other transaction. */
void txn_bounds_check_results(struct db_conn *conn, struct db_txn *txn) {
    if (txn->bounds.result_bytes == 0 || txn->result_bytes <= txn->bounds.result_bytes)
        return;
    if (txn->exceeded != DB_BOUND_RESULTS)
        exceed(conn, txn, DB_BOUND_RESULTS);
    if (txn->result_bytes / 2 > txn->bounds.result_bytes)
        conn_down(conn, "the results of a transaction are too large");
}

/* The time begins when the transaction before txn has ended. */
static void check_time(struct db_conn *conn, struct db_txn *txn) {
    if (txn->busy_since_us == 0)
        txn->busy_since_us = clock_mono();
    else if (clock_mono() - txn->busy_since_us > txn->bounds.busy_us)
        exceed(conn, txn, DB_BOUND_TIME);
}

void txn_bounds_check_time(void) {
    DB_EACH_CONN(conn) {
        struct db_txn *txn = conn->state == DB_BUSY ? conn_incoming_txn(conn) : NULL;

        if (txn == NULL)
            continue;
        if (txn->exceeded != DB_BOUND_NONE)
            cancel_session(conn);
        else if (txn->bounds.busy_us > 0)
            check_time(conn, txn);
    }
}

const struct op_error *txn_bounds_error(const struct db_txn *txn) {
    static const struct op_error errors[] = {
        [DB_BOUND_RESULTS] = { DB_RESULTS_TOO_LARGE, "its results are too large" },
        [DB_BOUND_TIME] = { DB_TOO_LONG, "it kept the database busy for too long" },
    };

    return txn->exceeded == DB_BOUND_NONE ? NULL : &errors[txn->exceeded];
}
