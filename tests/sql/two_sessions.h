#ifndef TWO_SESSIONS_H
#define TWO_SESSIONS_H

#include "session.h"

/* Tests with two sessions of a new database. A test that fails may leave a transaction open, so each has its own. */
static PGconn *a, *b;

static int open_sessions(void **state) {
    const char *database = database_new();

    (void)state;
    a = session_open(database);
    b = session_open(database);
    return 0;
}

static int close_sessions(void **state) {
    (void)state;
    PQfinish(a);
    PQfinish(b);
    return 0;
}

#endif
