#ifndef DOCTOR_H
#define DOCTOR_H

#include <event2/event.h>
#include <libpq-fe.h>
#include "admin/findings.h"
#include "pg/pooler_check.h"

/*
 * Checks the database over a separate connection, one statement after the other. Each check is a row of a
 * table in doctor.c and a file in sql/doctor/. A check that fails for lack of rights or of time becomes a
 * finding.
 */
struct doctor {
    struct findings findings; /* the owner may add findings; doctor_stop() frees them */
    /* Private. */
    PGconn *conn; /* NULL: no connection */
    struct event *io;
    struct event *timer;
    size_t host;      /* index of the current host */
    size_t tried;     /* number of hosts tried before it */
    int step;         /* the last step, see doctor.c */
    int64_t asked_us; /* wall clock when the last statement was sent */
    PGresult *answer; /* result of the last statement so far */
    struct pooler pooler;
    char *tables;
    char why[300]; /* error of the last host */
    void (*on_end)(void *arg);
    void *arg;
};

void doctor_init(struct event_base *base);
/* Starts with this host (conninfo_hosts.h), and tries the others until a host is a primary. Calls on_end() once,
 * later, unless doctor_stop() comes first. d must be all zero. */
void doctor_start(struct doctor *d, size_t host, void (*on_end)(void *arg), void *arg);
/* Ends the doctor if it still runs, and frees everything. d is all zero again. */
void doctor_stop(struct doctor *d);

#endif
