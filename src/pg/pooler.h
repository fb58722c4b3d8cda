#ifndef POOLER_H
#define POOLER_H

#include <stdbool.h>
#include <libpq-fe.h>
#include "base/util.h"

/*
 * Is there a pooler (PgBouncer) before the database, and is the session behind it ours alone?
 *
 * Settings and prepared statements are the session's. A pooler that lends the session to others
 * after each transaction must not be used: its statements would run with settings that nobody
 * knows, synchronous_commit among them.
 *
 * A pooler gives itself away by a number: its greeting names another process than the session
 * does. Whether the session is ours is tried out: it is told to end when idle for a moment. If our
 * connection ends with it, it was ours, and a new one is made; if not, there is nothing to be had
 * here. That does no harm to anybody: an idle session in a pool is replaced when it ends.
 *
 * Does no I/O: the owner of the connection sends what pooler_next() asks for.
 */
enum pooler_status {
    POOLER_SEND,   /* sql_pooler, with values, and call again with the result */
    POOLER_WAIT,   /* for POOLER_WAIT_US; then call again with the same result */
    POOLER_FINE,   /* the session is ours */
    POOLER_REFUSE, /* it is not: error says so */
};

#define POOLER_WAIT_US INT64_C(1000000)

struct pooler {
    const char *values[1];
    char error[320];
    /* Private. */
    int step;
    int session;    /* who answered first */
    unsigned asked; /* how often it was told to end */
    bool tried;     /* the connection before this one ended with its session */
};

/* greeted: what PQbackendPID() says of the connection. last: the result of what was sent last, which
 * was no error; NULL for a new connection. */
enum pooler_status pooler_next(struct pooler *p, int greeted, const PGresult *last) MUST_CHECK;

/* Is there nothing under way, and the wait not over? */
bool pooler_waits(const struct pooler *p);

/* Of a statement to be prepared: does the session know it already, because others had it before? */
bool pooler_lent_used(const PGresult *res);
#define POOLER_LENT_USED                                                       \
    "the pooler before the database lends sessions as others have left them: " \
    "server_reset_query has to be DISCARD ALL (PgBouncer)"

/* The connection has ended. Was that the proof that its session was ours? Then connect at once. */
bool pooler_lost(struct pooler *p) MUST_CHECK;

#endif
