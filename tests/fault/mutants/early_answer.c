/* A server that answers before the commit. wraps: PQpipelineSync PQsendQueryPrepared PQsendQueryParams PQgetResult */
#include <stdbool.h>
#include <stddef.h>
#include <libpq-fe.h>

/* A task ends when its statements have results. The Sync that commits them is sent only before the next transaction, or
 * with the next heartbeat. A caller therefore learns of a commit that has not happened yet. */
#define CONNS_MOST 8
#define TXNS_MOST 2

int __real_PQpipelineSync(PGconn *pg);
int __wrap_PQpipelineSync(PGconn *pg);
int __real_PQsendQueryPrepared(PGconn *pg, const char *name, int count, const char *const *values,
                               const int *lengths, const int *formats, int format);
int __wrap_PQsendQueryPrepared(PGconn *pg, const char *name, int count, const char *const *values,
                               const int *lengths, const int *formats, int format);
int __real_PQsendQueryParams(PGconn *pg, const char *text, int count, const Oid *types,
                             const char *const *values, const int *lengths, const int *formats, int format);
int __wrap_PQsendQueryParams(PGconn *pg, const char *text, int count, const Oid *types,
                             const char *const *values, const int *lengths, const int *formats, int format);
PGresult *__real_PQgetResult(PGconn *pg);
PGresult *__wrap_PQgetResult(PGconn *pg);

struct txn {
    unsigned sent; /* statements */
    unsigned got;  /* results */
};

static struct conn {
    PGconn *pg;
    int pid;                    /* of the session: a connection's memory may be used again */
    unsigned making;            /* statements of the transaction that is not complete yet */
    struct txn txns[TXNS_MOST]; /* under way, the oldest first */
    unsigned sent_txns;
    bool prepared;   /* the Sync of the session's settings and statements was sent */
    bool open;       /* the last transaction is not committed yet */
    unsigned beats;  /* Syncs that carry nothing: their results are the caller's */
    unsigned ignore; /* results of late Syncs */
} conns[CONNS_MOST];

static struct conn *conn_of(PGconn *pg) {
    struct conn *conn = &conns[0];

    for (size_t i = 0; i < CONNS_MOST && conns[i].pg != NULL; i++) {
        conn = &conns[i];
        if (conn->pg == pg)
            break;
    }
    if (conn->pg != NULL && conn->pg != pg && conn < &conns[CONNS_MOST - 1])
        conn++;
    if (conn->pg != pg || conn->pid != PQbackendPID(pg))
        *conn = (struct conn){ .pg = pg, .pid = PQbackendPID(pg) };
    return conn;
}

/* Before the first statement of a transaction: commits the transaction before it. */
static bool begin_statement(struct conn *conn) {
    if (conn->making == 0 && conn->open) {
        if (__real_PQpipelineSync(conn->pg) != 1)
            return false;
        conn->open = false;
        conn->ignore++;
    }
    conn->making++;
    return true;
}

int __wrap_PQsendQueryPrepared(PGconn *pg, const char *name, int count, const char *const *values,
                               const int *lengths, const int *formats, int format) {
    return begin_statement(conn_of(pg)) &&
           __real_PQsendQueryPrepared(pg, name, count, values, lengths, formats, format);
}

int __wrap_PQsendQueryParams(PGconn *pg, const char *text, int count, const Oid *types,
                             const char *const *values, const int *lengths, const int *formats, int format) {
    return begin_statement(conn_of(pg)) &&
           __real_PQsendQueryParams(pg, text, count, types, values, lengths, formats, format);
}

int __wrap_PQpipelineSync(PGconn *pg) {
    struct conn *conn = conn_of(pg);

    if (conn->making == 0 || !conn->prepared) {
        conn->making = 0;
        conn->prepared = true;
        conn->open = false;
        conn->beats++;
        return __real_PQpipelineSync(pg);
    }
    conn->txns[conn->sent_txns++] = (struct txn){ .sent = conn->making };
    conn->making = 0;
    conn->open = true;
    return PQsendFlushRequest(pg);
}

static PGresult *land(struct conn *conn) {
    conn->txns[0] = conn->txns[1];
    conn->sent_txns--;
    return PQmakeEmptyPGresult(conn->pg, PGRES_PIPELINE_SYNC);
}

/* A Sync that carries nothing goes out when nothing is under way: its result comes before all others. */
static PGresult *synced(struct conn *conn, PGresult *res) {
    if (conn->beats > 0) {
        conn->beats--;
        return res;
    }
    conn->ignore--;
    PQclear(res);
    return NULL;
}

/* The result of a Prepare has no command status. */
static bool is_of_statement(PGresult *res) {
    return PQresultStatus(res) != PGRES_COMMAND_OK || PQcmdStatus(res)[0] != '\0';
}

PGresult *__wrap_PQgetResult(PGconn *pg) {
    struct conn *conn = conn_of(pg);
    struct txn *first = &conn->txns[0];
    PGresult *res;

    if (conn->sent_txns > 0 && first->got == first->sent)
        return land(conn);
    res = __real_PQgetResult(pg);
    if (res == NULL)
        return NULL;
    if (PQresultStatus(res) == PGRES_PIPELINE_SYNC)
        return synced(conn, res);
    if (conn->sent_txns > 0 && is_of_statement(res))
        first->got++;
    return res;
}
