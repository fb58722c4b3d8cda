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
 * A pooler that stalls may read the last answer and the end of the session together, before it takes the session from
 * the connection. It then closes the connection in each mode. The connection receives the end together with the
 * answer. Such an end proves nothing, and the owner repeats the check with a new connection. The owner also repeats the
 * check if the pooler assigns a session that the check of another connection ends at this moment.
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
    int session;     /* process ID of the session that answered first */
    unsigned asked;  /* how often the session was told to end when idle */
    unsigned losses; /* connections that ended during the check and proved nothing */
    bool tried;      /* the connection before this one ended with its session */
    bool hasty;      /* the end of the session arrived together with the last answer */
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

/* Call it with each notice of the connection. libpq reports the end of an idle session as a notice. */
void pooler_notice(struct pooler *p, const PGresult *notice);

/* Call it when the connection has ended. True if the check may have ended it: connect again at once. The next
 * pooler_next() accepts the session only if this end proves that the session belonged to the connection. */
bool pooler_lost(struct pooler *p) MUST_CHECK;

#endif
