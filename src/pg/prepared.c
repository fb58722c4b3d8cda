/* The prepared statements of a session. */
#include "pg/prepared.h"

static bool send_prepare(PGconn *pg, int stmt) {
    return PQsendPrepare(pg, sql_texts[stmt].name, sql_texts[stmt].text, 0, NULL) == 1;
}

bool prepared_begin(struct prepared *s, PGconn *pg) {
    static const enum sql_stmt first[] = { SQL_SET_DURABILITY, SQL_FENCE, SQL_TAKE_SNAPSHOT };

    *s = (struct prepared){ .used = 0 };
    for (size_t i = 0; i < LENGTH(first); i++) {
        if (!send_prepare(pg, (int)first[i]))
            return false;
        s->states[first[i]] = STATEMENT_PREPARED;
    }
    return true;
}

bool prepared_send_used(struct prepared *s, PGconn *pg, bool *broken) {
    if (s->used == 0 || s->sent)
        return false;
    for (int stmt = 0; stmt < SQL_COUNT; stmt++) {
        if (s->states[stmt] != STATEMENT_USED)
            continue;
        s->states[stmt] = STATEMENT_PREPARING;
        *broken = *broken || !send_prepare(pg, stmt);
    }
    s->used = 0;
    s->sent = true;
    *broken = *broken || PQpipelineSync(pg) != 1;
    return true;
}

/* The results come in the order of the statements. After an error the session skips the others. A statement that
 * cannot be prepared waits for its next use, so that it does not hold up the others. */
static void note_prepared(struct prepared *s, ExecStatusType status) {
    int stmt = 0;

    while (stmt < SQL_COUNT && s->states[stmt] != STATEMENT_PREPARING)
        stmt++;
    if (stmt == SQL_COUNT)
        return;
    if (status == PGRES_COMMAND_OK) {
        s->states[stmt] = STATEMENT_PREPARED;
    } else if (status == PGRES_PIPELINE_ABORTED) {
        s->states[stmt] = STATEMENT_USED;
        s->used++;
    } else {
        s->states[stmt] = STATEMENT_UNUSED;
    }
}

bool prepared_take_result(struct prepared *s, const PGresult *res) {
    ExecStatusType status = PQresultStatus(res);

    if (status == PGRES_PIPELINE_SYNC)
        s->sent = false;
    else
        note_prepared(s, status);
    return status == PGRES_PIPELINE_SYNC;
}

bool prepared_execute(struct prepared *s, PGconn *pg, enum sql_stmt stmt, int columns,
                      const char *const values[], const int lengths[], const int formats[]) {
    if (statement_is_prepared(s, stmt))
        return PQsendQueryPrepared(pg, sql_texts[stmt].name, columns, values, lengths, formats, 1) == 1;
    if (s->states[stmt] == STATEMENT_UNUSED) {
        s->states[stmt] = STATEMENT_USED;
        s->used++;
    }
    return PQsendQueryParams(pg, sql_texts[stmt].text, columns, NULL, values, lengths, formats, 1) == 1;
}
