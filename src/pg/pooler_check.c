/* Detects a pooler before the database, and checks that the session belongs to this connection alone. */
#include "pg/pooler_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql_gen.h"

enum { STEP_BEGIN, STEP_GREETED, STEP_TOLD, STEP_WAITING };

#define FOREVER "0"
#define A_MOMENT "100ms"
/* Most waits for the session's end. The end may be late, or other clients may use the session in between. */
#define PATIENCE 5

static enum pooler_status pooler_check_ask(struct pooler *p, const char *patience, int step) {
    p->values[0] = patience;
    p->step = step;
    return POOLER_SEND;
}

static enum pooler_status fine(struct pooler *p) {
    p->step = STEP_BEGIN;
    p->tried = false;
    return POOLER_FINE;
}

static enum pooler_status pooler_check_refuse(struct pooler *p) {
    snprintf(p->error, sizeof p->error,
             "the pooler before the database lends sessions for a transaction or a statement only, and this "
             "server needs sessions of its own: set pool_mode = session for this database (PgBouncer), or "
             "connect to Postgres directly");
    return POOLER_REFUSE;
}

/* Handles the first result, which names the session. */
static enum pooler_status pooler_check_meet(struct pooler *p, int greeted, const PGresult *last) {
    p->session = atoi(PQgetvalue(last, 0, 0));
    if (p->session == greeted || p->tried)
        return fine(p);
    p->asked = 0;
    return pooler_check_ask(p, A_MOMENT, STEP_TOLD);
}

/* Does another session answer, or the same session after another client has changed its settings? */
static bool pooler_check_is_strange(const struct pooler *p, const PGresult *last) {
    return atoi(PQgetvalue(last, 0, 0)) != p->session ||
           strcmp(PQgetvalue(last, 0, 1), p->asked == 0 ? FOREVER : A_MOMENT) != 0;
}

static enum pooler_status judge(struct pooler *p, const PGresult *last) {
    if (pooler_check_is_strange(p, last) || ++p->asked > PATIENCE)
        return pooler_check_refuse(p);
    p->step = STEP_WAITING;
    return POOLER_WAIT;
}

enum pooler_status pooler_next(struct pooler *p, int greeted, const PGresult *last) {
    if (last == NULL)
        return pooler_check_ask(p, FOREVER, STEP_GREETED);
    switch (p->step) {
    case STEP_GREETED:
        return pooler_check_meet(p, greeted, last);
    case STEP_TOLD:
        return judge(p, last);
    default:
        return pooler_check_ask(p, A_MOMENT, STEP_TOLD);
    }
}

bool pooler_waits(const struct pooler *p) {
    return p->step == STEP_WAITING;
}

bool pooler_lost(struct pooler *p) {
    p->tried = p->step == STEP_WAITING;
    p->step = STEP_BEGIN;
    return p->tried;
}

bool pooler_lent_used(const PGresult *res) {
    const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);

    return state != NULL && strcmp(state, "42P05") == 0;
}
