/* A single query to a database over a separate connection. */
#include "pg/conn_probe.h"

#include <stdio.h>

#include "base/clock.h"

/* The timeout of each step of connecting and querying. */
#define SILENCE_US (6 * US_PER_S)

static void on_conn_probe_io(evutil_socket_t fd, short what, void *arg);

static void conn_probe_drop_io(struct probe *p) {
    if (p->io != NULL)
        event_free(p->io);
    p->io = NULL;
}

/* PQconnectPoll() may replace the socket, so each step makes a new event. */
static void conn_probe_watch(struct probe *p, short what) {
    struct timeval patience = { SILENCE_US / US_PER_S, SILENCE_US % US_PER_S };

    conn_probe_drop_io(p);
    p->io = event_new(p->base, PQsocket(p->conn), what, on_conn_probe_io, p);
    event_add(p->io, NULL);
    event_add(p->timer, &patience);
}

void probe_stop(struct probe *p) {
    if (p->conn == NULL)
        return;
    conn_probe_drop_io(p);
    event_free(p->timer);
    PQfinish(p->conn);
    p->conn = NULL;
}

static void conn_probe_end(struct probe *p, enum probe_outcome outcome, const PGresult *res) {
    probe_stop(p);
    p->on_end(p->arg, outcome, res);
}

static void conn_probe_ask(struct probe *p) {
    const char *values[] = { p->param };

    p->asked = true;
    if (PQsendQueryParams(p->conn, p->sql, p->param[0] != '\0', NULL, values, NULL, NULL, 0) == 1)
        conn_probe_watch(p, EV_READ);
    else
        conn_probe_end(p, PROBE_REFUSED, NULL);
}

static void conn_probe_connecting_step(struct probe *p) {
    switch (PQconnectPoll(p->conn)) {
    case PGRES_POLLING_READING:
        conn_probe_watch(p, EV_READ);
        break;
    case PGRES_POLLING_WRITING:
        conn_probe_watch(p, EV_WRITE);
        break;
    case PGRES_POLLING_OK:
        conn_probe_ask(p);
        break;
    default:
        conn_probe_end(p, PROBE_REFUSED, NULL);
    }
}

static void conn_probe_asking_step(struct probe *p) {
    PGresult *res;

    if (PQconsumeInput(p->conn) == 1 && PQisBusy(p->conn)) {
        conn_probe_watch(p, EV_READ);
        return;
    }
    res = PQgetResult(p->conn);
    conn_probe_end(p, PQresultStatus(res) == PGRES_TUPLES_OK ? PROBE_ANSWER : PROBE_REFUSED, res);
    PQclear(res);
}

static void on_conn_probe_io(evutil_socket_t fd, short what, void *arg) {
    struct probe *p = arg;

    (void)fd;
    (void)what;
    if (p->asked)
        conn_probe_asking_step(p);
    else
        conn_probe_connecting_step(p);
}

static void on_conn_probe_timer(evutil_socket_t fd, short what, void *arg) {
    struct probe *p = arg;

    (void)fd;
    (void)what;
    conn_probe_end(p, PQstatus(p->conn) == CONNECTION_BAD ? PROBE_REFUSED : PROBE_SILENCE, NULL);
}

/* A connection that failed at once has no socket. The timer reports it in the next turn. */
void probe_start(struct probe *p, struct event_base *base, PGconn *conn, const char *sql, const char *param,
                 void (*on_end)(void *arg, enum probe_outcome outcome, const PGresult *res), void *arg) {
    struct timeval at_once = { 0, 0 };

    *p = (struct probe){ .conn = conn, .base = base, .sql = sql, .on_end = on_end, .arg = arg };
    snprintf(p->param, sizeof p->param, "%s", param);
    p->timer = event_new(base, -1, 0, on_conn_probe_timer, p);
    if (PQstatus(conn) == CONNECTION_BAD)
        event_add(p->timer, &at_once);
    else
        conn_probe_watch(p, EV_WRITE);
}
