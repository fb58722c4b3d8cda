#ifndef TXN_BOUNDS_H
#define TXN_BOUNDS_H

#include "pg/db.h"

/*
 * Ends a transaction that exceeds its bounds: see db_bound(). The server cancels its statement over another
 * connection, and does that again until the transaction has ended.
 */

/* Cancels the transactions that take too long. Called twice a second. */
void txn_bounds_check_time(void);

/* ---- for the modules of this folder ---- */

/* Called when results of txn have arrived. May close the connection. */
void txn_bounds_check_results(struct db_conn *conn, struct db_txn *txn);
/* The error of a transaction that has exceeded a bound, or NULL. */
const struct op_error *txn_bounds_error(const struct db_txn *txn);

#endif
