/* layer 2 */
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>
#include <event2/event.h>
#include <libpq-fe.h>

/*
 * Asks the database over a connection of its own what another session of ours does.
 * One look at a time; the connection is closed when the answer is there.
 */
enum probe_answer {
    PROBE_WORKS,   /* it executes something, or waits for a lock, the disk, a standby */
    PROBE_WAITS,   /* it waits for us, or there is no such session */
    PROBE_SILENCE, /* nothing comes over this connection either */
    PROBE_REFUSED, /* it failed: that says nothing about the session */
};

struct probe {
    PGconn *conn; /* NULL: no look is under way */
    struct event_base *base;
    struct event *io;
    struct event *timer;
    bool asked;
    char session[64];
    void (*on_answer)(void *arg, enum probe_answer answer);
    void *arg;
};

/* Takes over conn, a connection that PQconnectStart() has begun, and looks at the session of that
 * application_name. on_answer() is called once, later, unless probe_stop() comes first. */
void probe_start(struct probe *p, struct event_base *base, PGconn *conn, const char *session,
                 void (*on_answer)(void *arg, enum probe_answer answer), void *arg);
/* Harmless when no look is under way. */
void probe_stop(struct probe *p);

static inline bool probe_is_running(const struct probe *p) {
    return p->conn != NULL;
}

#endif
