/* Names and beginnings of our sessions in the database. */
#include "pg/session.h"

#include <stdio.h>

#include "base/log.h"
#include "base/node.h"
#include "pg/hosts.h"

struct session_name session_name(const char *what) {
    struct session_name name;

    snprintf(name.text, sizeof name.text, "pgdisque %.8s %s", node_self()->id, what);
    return name;
}

/* Of a keyword that comes twice the last counts. */
static void set(struct host_options *o, size_t *count, const char *key, const char *value) {
    o->keys[*count] = key;
    o->values[(*count)++] = value;
    o->keys[*count] = o->values[*count] = NULL;
}

/* These may be overridden by the user's options; the name of the session may not. */
static size_t defaults(struct host_options *o) {
    size_t count = 0;

    set(o, &count, "keepalives_idle", "5");
    set(o, &count, "keepalives_interval", "3");
    set(o, &count, "keepalives_count", "3");
    set(o, &count, "tcp_user_timeout", "10000");
    return count;
}

/* libpq would print them. */
static void log_notice_of(void *arg, const char *message) {
    (void)arg;
    log_verbose("database", "%s", message);
}

PGconn *session_connect(size_t host, const char *what) {
    struct session_name name = session_name(what);
    struct host_options all, given;
    size_t count = defaults(&all);
    PGconn *conn;

    hosts_options(host, &given);
    for (size_t i = 0; given.keys[i] != NULL && count < HOSTS_OPTIONS - 3; i++)
        set(&all, &count, given.keys[i], given.values[i]);
    set(&all, &count, "application_name", name.text);
    set(&all, &count, "client_encoding", "SQL_ASCII");
    conn = PQconnectStartParams(all.keys, all.values, 0);
    if (conn == NULL)
        log_fatal("memory", "out of memory while connecting to the database");
    PQsetNoticeProcessor(conn, log_notice_of, NULL);
    return conn;
}
