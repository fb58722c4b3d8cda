#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>
#include <event2/event.h>
#include <libpq-fe.h>

/*
 * One question to a database over a connection of its own, which is closed when the answer
 * is there. Neither to connect nor to answer takes for ever.
 */
enum probe_outcome {
    PROBE_ANSWER,
    PROBE_SILENCE, /* nothing comes */
    PROBE_REFUSED, /* it failed */
};

struct probe {
    PGconn *conn; /* NULL: no question is under way */
    struct event_base *base;
    struct event *io;
    struct event *timer;
    bool asked;
    const char *sql;
    char param[64]; /* $1; empty: there is none */
    /* res: of an answer; gone afterwards. */
    void (*on_end)(void *arg, enum probe_outcome outcome, const PGresult *res);
    void *arg;
};

/* Takes over conn, a connection that has begun. on_end() is called once, later, unless probe_stop()
 * comes first. */
void probe_start(struct probe *p, struct event_base *base, PGconn *conn, const char *sql, const char *param,
                 void (*on_end)(void *arg, enum probe_outcome outcome, const PGresult *res), void *arg);
/* Harmless when no question is under way. */
void probe_stop(struct probe *p);

static inline bool probe_is_running(const struct probe *p) {
    return p->conn != NULL;
}

#endif
