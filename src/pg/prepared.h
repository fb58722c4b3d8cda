#ifndef PREPARED_H
#define PREPARED_H

#include <stdbool.h>
#include <stddef.h>
#include <libpq-fe.h>
#include "base/util.h"
#include "sql_gen.h"

/*
 * The prepared statements of a session. To prepare all statements of sql/queries takes a session a sixth of a second, so
 * a session prepares only the statements that it uses: the first execution is without a name, and the next transaction
 * prepares the statement before its own statements. Prepares have a Sync of their own, so no error of the transaction
 * skips them, and their errors do not touch it. A statement is executed by its name when its Prepare has succeeded.
 */
enum statement_state {
    STATEMENT_UNUSED,
    STATEMENT_USED,      /* executed without a name: the next Prepares contain it */
    STATEMENT_PREPARING, /* its Prepare was sent */
    STATEMENT_PREPARED,
};

struct prepared {
    enum statement_state states[SQL_COUNT];
    size_t used; /* statements in STATEMENT_USED */
    bool sent;   /* Prepares were sent, and the result of their Sync has not arrived */
};

/* Begins a new session: prepares the statements that db.c executes by their names at any time. Sends no Sync. */
bool prepared_begin(struct prepared *s, PGconn *pg) MUST_CHECK;
/* Call it before the first statement of a transaction. True if Prepares with a Sync were sent: the next results are
 * theirs. *broken becomes true if they could not be sent. */
bool prepared_send_used(struct prepared *s, PGconn *pg, bool *broken) MUST_CHECK;
/* Call it with each result after prepared_send_used(). True if it was the last one. Does not free res. */
bool prepared_take_result(struct prepared *s, const PGresult *res) MUST_CHECK;

static inline bool statement_is_prepared(const struct prepared *s, enum sql_stmt stmt) {
    return s->states[stmt] == STATEMENT_PREPARED;
}

/* Executes a statement with parameters in the pipeline, and asks for binary results. Gives one result. */
bool prepared_execute(struct prepared *s, PGconn *pg, enum sql_stmt stmt, int columns,
                      const char *const values[], const int lengths[], const int formats[]) MUST_CHECK;

#endif
