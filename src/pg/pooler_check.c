/* Detects a pooler before the database, and checks that the session belongs to this connection alone. */
#include "pg/pooler_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql_gen.h"

enum { STEP_BEGIN, STEP_GREETED, STEP_TOLD, STEP_WAITING };

#define FOREVER "0"
/* Most waits for the session's end. The end may be late, or other clients may use the session in between. */
#define PATIENCE 5
/* Most immediate new connections after ends that prove nothing. */
#define MOST_LOSSES 5

/* A longer time separates the answer and the end although the pooler stalls. It is shorter than POOLER_WAIT_US. */
static const char *pooler_check_moment(const struct pooler *p) {
    return p->losses == 0 ? "100ms" : "800ms";
}

static enum pooler_status pooler_check_ask(struct pooler *p, const char *patience, int step) {
    p->values[0] = patience;
    p->step = step;
    return POOLER_SEND;
}

static enum pooler_status fine(struct pooler *p) {
    p->step = STEP_BEGIN;
    p->tried = false;
    p->losses = 0;
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
static enum pooler_status pooler_check_second(struct pooler *p, int greeted, const PGresult *last) {
    p->session = atoi(PQgetvalue(last, 0, 0));
    if (p->session == greeted || p->tried)
        return fine(p);
    p->asked = 0;
    return pooler_check_ask(p, pooler_check_moment(p), STEP_TOLD);
}

/* Does another session answer, or the same session after another client has changed its settings? */
static bool pooler_check_is_strange(const struct pooler *p, const PGresult *last) {
    return atoi(PQgetvalue(last, 0, 0)) != p->session ||
           strcmp(PQgetvalue(last, 0, 1), p->asked == 0 ? FOREVER : pooler_check_moment(p)) != 0;
}

static enum pooler_status pooler_status_of(struct pooler *p, const PGresult *last) {
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
        return pooler_check_second(p, greeted, last);
    case STEP_TOLD:
        return pooler_status_of(p, last);
    default:
        return pooler_check_ask(p, pooler_check_moment(p), STEP_TOLD);
    }
}

bool pooler_waits(const struct pooler *p) {
    return p->step == STEP_WAITING;
}

/* SQLSTATE 57P05 is idle_session_timeout. */
void pooler_notice(struct pooler *p, const PGresult *notice) {
    const char *state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);

    if (p->step == STEP_TOLD && state != NULL && strcmp(state, "57P05") == 0)
        p->hasty = true;
}

bool pooler_lost(struct pooler *p) {
    bool tested = p->step != STEP_BEGIN;

    p->tried = p->step == STEP_WAITING && !p->hasty;
    p->hasty = false;
    p->step = STEP_BEGIN;
    return p->tried || (tested && p->losses++ < MOST_LOSSES);
}

bool pooler_lent_used(const PGresult *res) {
    const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);

    return state != NULL && strcmp(state, "42P05") == 0;
}
