/* A server that waits for no flush by another session. wraps: flush_apart_begin flush_apart_is_done */
#include "pg/apart_flush.h"

void __wrap_flush_apart_begin(struct db_conn *conn);
bool __wrap_flush_apart_is_done(const struct db_conn *conn, const struct db_txn *txn);

void __wrap_flush_apart_begin(struct db_conn *conn) {
    (void)conn;
}

bool __wrap_flush_apart_is_done(const struct db_conn *conn, const struct db_txn *txn) {
    (void)conn;
    (void)txn;
    return true;
}
