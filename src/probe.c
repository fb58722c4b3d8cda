/* Asks over a connection of its own what another session does: is its connection deaf, or is it at work? */
#include "probe.h"

#include <stdio.h>

#include "clock.h"
#include "sql_gen.h"

/* For each step of connecting and asking. */
#define SILENCE_US (6 * US_PER_S)

static void on_io(evutil_socket_t fd, short what, void *arg);

static void drop_io(struct probe *p) {
    if (p->io != NULL)
        event_free(p->io);
    p->io = NULL;
}

/* The socket may be another one after each step of connecting. */
static void watch(struct probe *p, short what) {
    struct timeval patience = { SILENCE_US / US_PER_S, SILENCE_US % US_PER_S };

    drop_io(p);
    p->io = event_new(p->base, PQsocket(p->conn), what, on_io, p);
    event_add(p->io, NULL);
    event_add(p->timer, &patience);
}

void probe_stop(struct probe *p) {
    if (p->conn == NULL)
        return;
    drop_io(p);
    event_free(p->timer);
    PQfinish(p->conn);
    p->conn = NULL;
}

static void answer(struct probe *p, enum probe_answer what) {
    probe_stop(p);
    p->on_answer(p->arg, what);
}

static void ask(struct probe *p) {
    const char *values[] = { p->session };

    p->asked = true;
    if (PQsendQueryParams(p->conn, sql_probe, 1, NULL, values, NULL, NULL, 0) == 1)
        watch(p, EV_READ);
    else
        answer(p, PROBE_REFUSED);
}

static void connecting_step(struct probe *p) {
    switch (PQconnectPoll(p->conn)) {
    case PGRES_POLLING_READING:
        watch(p, EV_READ);
        break;
    case PGRES_POLLING_WRITING:
        watch(p, EV_WRITE);
        break;
    case PGRES_POLLING_OK:
        ask(p);
        break;
    default:
        answer(p, PROBE_REFUSED);
    }
}

static enum probe_answer read_result(const PGresult *res) {
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        return PROBE_REFUSED;
    return PQgetisnull(res, 0, 0) || PQgetvalue(res, 0, 0)[0] == 't' ? PROBE_WAITS : PROBE_WORKS;
}

static void asking_step(struct probe *p) {
    PGresult *res;
    enum probe_answer what;

    if (PQconsumeInput(p->conn) == 1 && PQisBusy(p->conn)) {
        watch(p, EV_READ);
        return;
    }
    res = PQgetResult(p->conn);
    what = read_result(res);
    PQclear(res);
    answer(p, what);
}

static void on_io(evutil_socket_t fd, short what, void *arg) {
    struct probe *p = arg;

    (void)fd;
    (void)what;
    if (p->asked)
        asking_step(p);
    else
        connecting_step(p);
}

static void on_timer(evutil_socket_t fd, short what, void *arg) {
    struct probe *p = arg;

    (void)fd;
    (void)what;
    answer(p, PQstatus(p->conn) == CONNECTION_BAD ? PROBE_REFUSED : PROBE_SILENCE);
}

/* A connection that failed at once has no socket: the timer tells of it. */
void probe_start(struct probe *p, struct event_base *base, PGconn *conn, const char *session,
                 void (*on_answer)(void *arg, enum probe_answer answer), void *arg) {
    struct timeval at_once = { 0, 0 };

    *p = (struct probe){ .conn = conn, .base = base, .on_answer = on_answer, .arg = arg };
    snprintf(p->session, sizeof p->session, "%s", session);
    p->timer = event_new(base, -1, 0, on_timer, p);
    if (PQstatus(conn) == CONNECTION_BAD)
        event_add(p->timer, &at_once);
    else
        watch(p, EV_WRITE);
}
