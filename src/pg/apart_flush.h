#ifndef APART_FLUSH_H
#define APART_FLUSH_H

#include <stdbool.h>
#include "pg/db.h"

/*
 * Flushes apart: the database flushes the log of a transaction while the session of CONN_WRITE executes the next one.
 *
 * Such a transaction commits with synchronous_commit = off, so the next one reads its changes at once. When its results
 * have arrived, CONN_FLUSH commits a fence with the durability of the transaction. The log is flushed, and sent to the
 * standbys, in its order, so the earlier commit is then as durable as the fence. The end of the transaction is reported
 * after the fence. One fence serves all transactions whose results have arrived.
 *
 * If CONN_FLUSH is lost, CONN_WRITE is closed while it has such transactions, and they are lost, too. So one session of
 * CONN_FLUSH lives from the begin of a transaction to its fence, and the database has not crashed in between. The first
 * statement of the next session of CONN_WRITE is a fence. Both connections must be to the same server. Otherwise a
 * transaction is flushed by its own commit. CONN_FLUSH is opened for the first transaction that asks for it.
 *
 * The fence costs two wake-ups and a commit. That pays if the flush is slow: a standby or a disk over the network. So the
 * time of each fence is measured, and of a fence without a transaction if the time is unknown or old. With few rows there
 * is too little to execute during a flush.
 */

/* The commit of the next transaction, on CONN_WRITE, does not wait for the disk and the standbys if the option flush-apart
 * permits that. Call it after the last statement. rows: of the parameters of its statements. */
void flush_apart_ask(struct db_conn *conn, size_t rows);

/* ---- for db.c ---- */

/* Sends a fence if results have arrived that need one, and if no fence is sent. */
void flush_apart_begin(struct db_conn *conn);
/* True if the end of txn may be reported. txn is the oldest transaction of conn, and its results have arrived. */
bool flush_apart_is_done(const struct db_conn *conn, const struct db_txn *txn);
/* CONN_FLUSH was lost, or its fence failed: closes CONN_WRITE if a transaction of CONN_WRITE needs a fence. */
void flush_apart_lost(const char *why);
/* Closes CONN_FLUSH. */
void flush_apart_stop(void);

#endif
