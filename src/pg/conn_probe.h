#ifndef CONN_PROBE_H
#define CONN_PROBE_H

#include <stdbool.h>
#include <event2/event.h>
#include <libpq-fe.h>

/*
 * A single query to a database over a separate connection, which is closed after the result. Each step of connecting
 * and querying has a timeout.
 */
enum probe_outcome {
    PROBE_ANSWER,
    PROBE_SILENCE, /* timeout */
    PROBE_REFUSED, /* the connection or the query failed */
};

struct probe {
    PGconn *conn; /* NULL: no probe is running */
    struct event_base *base;
    struct event *io;
    struct event *timer;
    bool asked; /* the query was sent */
    const char *sql;
    char param[64]; /* $1; "": the query has no parameter */
    /* res is freed after the call. It has rows only for PROBE_ANSWER; it may be NULL otherwise. */
    void (*on_end)(void *arg, enum probe_outcome outcome, const PGresult *res);
    void *arg;
};

/* Takes over conn, a connection that PQconnectStartParams() has begun. on_end() is called once, after this call has
 * returned, unless probe_stop() is called before. */
void probe_start(struct probe *p, struct event_base *base, PGconn *conn, const char *sql, const char *param,
                 void (*on_end)(void *arg, enum probe_outcome outcome, const PGresult *res), void *arg);
/* Does nothing if no probe is running. */
void probe_stop(struct probe *p);

static inline bool probe_is_running(const struct probe *p) {
    return p->conn != NULL;
}

#endif
