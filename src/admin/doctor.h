#ifndef DOCTOR_H
#define DOCTOR_H

#include <event2/event.h>
#include <libpq-fe.h>
#include "admin/findings.h"
#include "pg/pooler.h"

/*
 * Looks for what is wrong with the database, over a connection of its own, one question after the
 * other. Each check is a row of a table in doctor.c and a file in sql/doctor/; what cannot be
 * asked, for lack of rights or of time, becomes a finding itself.
 */
struct doctor {
    struct findings findings; /* the owner may add to them; doctor_stop() frees them */
    /* Private. */
    PGconn *conn; /* NULL: no connection */
    struct event *io;
    struct event *timer;
    size_t host;      /* that is tried, ... */
    size_t tried;     /* ... after so many others */
    int step;         /* what was asked last: see doctor.c */
    int64_t asked_us; /* by the wall clock, when it was asked */
    PGresult *answer; /* of the last question, so far */
    struct pooler pooler;
    char *tables;
    char why[300]; /* why the last host would not do */
    void (*on_end)(void *arg);
    void *arg;
};

void doctor_init(struct event_base *base);
/* Begins with that host (hosts.h), and goes on to the others until one is a primary. on_end() is
 * called once, later, unless doctor_stop() comes first. d is all zero. */
void doctor_start(struct doctor *d, size_t host, void (*on_end)(void *arg), void *arg);
/* Ends it if it still runs, and frees everything: d is all zero again. */
void doctor_stop(struct doctor *d);

/* What can be seen on this machine without asking anybody. */
void doctor_look_here(struct findings *f);

/* ---- parts, for tests ---- */

/* The clocks: the database's when it answered, ours before it was asked and when the answer came. */
void doctor_judge_clock(struct findings *f, int64_t db_us, int64_t before_us, int64_t after_us);
/* The disk of the private Postgres. */
void doctor_judge_disk(struct findings *f, const char *dir, int64_t free_bytes, int64_t total_bytes);

#endif
