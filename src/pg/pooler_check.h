#ifndef POOLER_CHECK_H
#define POOLER_CHECK_H

#include <stdbool.h>
#include <libpq-fe.h>
#include "base/util.h"

/*
 * Detects a pooler (PgBouncer) before the database, and checks that the session behind it belongs to this connection
 * alone.
 *
 * Settings and prepared statements belong to the session. Some poolers give the session to other clients after each
 * transaction. Such a pooler must not be used, because statements would run with the settings of other clients, such as
 * synchronous_commit.
 *
 * A pooler is present if the process ID of the connection's start differs from pg_backend_pid() of the session. The
 * check then sets idle_session_timeout of the session to a short time. If the connection ends with the session, the
 * session belonged to it, and the server connects again. If the connection stays open, the pooler shares its sessions,
 * and is refused. The check harms no other client: a pooler replaces an idle session that ends.
 *
 * Does no I/O: the owner of the connection sends the statements that pooler_next() asks for.
 */
enum pooler_status {
    POOLER_SEND,   /* send sql_pooler with values, and call again with the result */
    POOLER_WAIT,   /* wait for POOLER_WAIT_US, then call again with the same result */
    POOLER_FINE,   /* the session belongs to this connection alone */
    POOLER_REFUSE, /* the pooler shares the session; see error */
};

#define POOLER_WAIT_US INT64_C(1000000)

struct pooler {
    const char *values[1];
    char error[320];
    /* Private. */
    int step;
    int session;    /* process ID of the session that answered first */
    unsigned asked; /* how often the session was told to end when idle */
    bool tried;     /* the connection before this one ended with its session */
};

/* greeted: PQbackendPID() of the connection. last: the result of the last statement, which must not be an error; NULL
 * for a new connection. */
enum pooler_status pooler_next(struct pooler *p, int greeted, const PGresult *last) MUST_CHECK;

/* Did pooler_next() return POOLER_WAIT at its last call? */
bool pooler_waits(const struct pooler *p);

/* Is res the error of a Prepare whose name the session has already (42P05), because a client had the session before? */
bool pooler_lent_used(const PGresult *res);
#define POOLER_LENT_USED                                                       \
    "the pooler before the database lends sessions as others have left them: " \
    "server_reset_query has to be DISCARD ALL (PgBouncer)"

/* Call it when the connection has ended. True if the end proves that the session belonged to it; connect again at
 * once. */
bool pooler_lost(struct pooler *p) MUST_CHECK;

#endif
