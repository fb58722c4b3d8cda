#ifndef DB_PRIVATE_H
#define DB_PRIVATE_H

#include "pg/db.h"

/*
 * A connection inside this folder: db.c sends transactions, receives results, and detects lost connections.
 * db_connect.h opens a connection until it is ready, primary_select.h selects the host.
 */
extern struct db {
    struct event_base *base;
    const struct db_hooks *hooks;
    struct db_conn *conns[CONN_KINDS]; /* NULL: not opened */
    int server_version;
    char last_error[768];
    char cause[512];   /* the cause of the outage; "" if unknown */
    char told[1300];   /* cause and last_error, for db_last_error() */
    bool disk_is_full; /* the cause is a full disk */
    bool was_ready;    /* a connection was ready since the start */
} db;

#define DB_EACH_CONN(conn)                           \
    for (int kind_ = 0; kind_ < CONN_KINDS; kind_++) \
        for (struct db_conn *conn = db.conns[kind_]; conn != NULL; conn = NULL)

/* The subject of log lines, such as "database writes". */
const char *conn_who(const struct db_conn *conn);
/* Waits for readable bytes; with write also until the socket takes bytes. */
void conn_watch(struct db_conn *conn, bool write);
void conn_arm_timer(struct db_conn *conn, int64_t us);
/* Flushes libpq's buffer as far as the socket takes it. False if the connection is broken. */
bool conn_send_all(struct db_conn *conn) MUST_CHECK;
/* Closes the connection and reports its transactions as lost. The connection is opened again after the back-off. */
void conn_down(struct db_conn *conn, const char *why);
/* Like conn_down(), for a connection that libpq found broken. The reason is libpq's message. */
void conn_broken(struct db_conn *conn);
/* Call it when the settings of the session are made. */
void conn_ready(struct db_conn *conn);
bool result_is_error(const PGresult *res);
/* The transaction that the next statement belongs to. */
struct db_txn *conn_filled_txn(struct db_conn *conn);
/* Reports the transactions whose results are complete, as far as neither a fence nor a flush holds them back. Sends a fence
 * if one is wanted. Does nothing while the connection is not ready. */
void conn_go_on(struct db_conn *conn);
/* The transaction whose results arrive next, or NULL. */
struct db_txn *conn_incoming_txn(struct db_conn *conn);

/* Has the connection waited for a result for QUIET_US? */
bool conn_hangs(const struct db_conn *conn);

#endif
