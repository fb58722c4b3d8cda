/* The names of this server's sessions in the database, and the begin of their connections. */
#include "pg/session.h"

#include <stdio.h>

#include "base/log.h"
#include "base/node.h"
#include "pg/conninfo_hosts.h"
#include "pg/host_addresses.h"

struct session_name session_name(const char *what) {
    struct session_name name;

    snprintf(name.text, sizeof name.text, "pgdisque %.8s %s", node_self()->id, what);
    return name;
}

/* Appends an option. libpq uses the last value of a repeated keyword. */
static void session_set(struct host_options *o, size_t *count, const char *key, const char *value) {
    o->keys[*count] = key;
    o->values[(*count)++] = value;
    o->keys[*count] = o->values[*count] = NULL;
}

/* Defaults that the connection string may override. It cannot override the name of the session. */
static size_t defaults(struct host_options *o) {
    size_t count = 0;

    session_set(o, &count, "keepalives_idle", "5");
    session_set(o, &count, "keepalives_interval", "3");
    session_set(o, &count, "keepalives_count", "3");
    session_set(o, &count, "tcp_user_timeout", "10000");
    return count;
}

/* Logs libpq's notices. Without this function libpq prints them to stderr. */
static void log_notice_of(void *arg, const char *message) {
    (void)arg;
    log_verbose("database", "%s", message);
}

PGconn *session_connect(size_t host, const char *what) {
    struct session_name name = session_name(what);
    struct host_options all, given;
    struct address_list list;
    size_t count = defaults(&all);
    PGconn *conn;

    hosts_options(host, &given);
    addresses_set(host, &given, &list);
    for (size_t i = 0; given.keys[i] != NULL && count < HOSTS_OPTIONS - 3; i++)
        session_set(&all, &count, given.keys[i], given.values[i]);
    session_set(&all, &count, "application_name", name.text);
    session_set(&all, &count, "client_encoding", "SQL_ASCII");
    conn = PQconnectStartParams(all.keys, all.values, 0);
    if (conn == NULL)
        log_fatal("memory", "out of memory while connecting to the database");
    PQsetNoticeProcessor(conn, log_notice_of, NULL);
    return conn;
}
