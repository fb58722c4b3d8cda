/* A server that answers before the commit. wraps: PQpipelineSync PQsendQueryPrepared PQgetResult */
#include <stdbool.h>
#include <stddef.h>
#include <libpq-fe.h>

/*
 * What a flight asks for is done when its statements have results; the Sync that commits them goes out
 * only with the flight after it. So the caller learns of a commit that has not happened yet.
 */
#define LANES_MOST 8

int __real_PQpipelineSync(PGconn *conn);
int __wrap_PQpipelineSync(PGconn *conn);
int __real_PQsendQueryPrepared(PGconn *conn, const char *name, int count, const char *const *values,
                               const int *lengths, const int *formats, int format);
int __wrap_PQsendQueryPrepared(PGconn *conn, const char *name, int count, const char *const *values,
                               const int *lengths, const int *formats, int format);
PGresult *__real_PQgetResult(PGconn *conn);
PGresult *__wrap_PQgetResult(PGconn *conn);

static struct lane {
    PGconn *conn;
    int pid;       /* of the session: a connection's memory may be used again */
    unsigned sent; /* statements of the flight */
    unsigned got;  /* results of the flight */
    bool flying;
    bool open;       /* the flight before is not committed yet */
    unsigned ignore; /* results of late Syncs */
} lanes[LANES_MOST];

static struct lane *lane_of(PGconn *conn) {
    struct lane *lane = &lanes[0];

    for (size_t i = 0; i < LANES_MOST && lanes[i].conn != NULL; i++) {
        lane = &lanes[i];
        if (lane->conn == conn)
            break;
    }
    if (lane->conn != NULL && lane->conn != conn && lane < &lanes[LANES_MOST - 1])
        lane++;
    if (lane->conn != conn || lane->pid != PQbackendPID(conn))
        *lane = (struct lane){ .conn = conn, .pid = PQbackendPID(conn) };
    return lane;
}

int __wrap_PQsendQueryPrepared(PGconn *conn, const char *name, int count, const char *const *values,
                               const int *lengths, const int *formats, int format) {
    struct lane *lane = lane_of(conn);

    if (lane->open) {
        if (__real_PQpipelineSync(conn) != 1)
            return 0;
        lane->open = false;
        lane->ignore++;
    }
    lane->sent++;
    return __real_PQsendQueryPrepared(conn, name, count, values, lengths, formats, format);
}

int __wrap_PQpipelineSync(PGconn *conn) {
    struct lane *lane = lane_of(conn);

    /* Connecting prepares, and is left alone. */
    if (lane->sent == 0)
        return __real_PQpipelineSync(conn);
    lane->flying = true;
    return PQsendFlushRequest(conn);
}

static PGresult *land(struct lane *lane) {
    lane->flying = false;
    lane->open = true;
    lane->sent = lane->got = 0;
    return PQmakeEmptyPGresult(lane->conn, PGRES_PIPELINE_SYNC);
}

PGresult *__wrap_PQgetResult(PGconn *conn) {
    struct lane *lane = lane_of(conn);
    PGresult *res;

    if (lane->flying && lane->got == lane->sent && lane->ignore == 0)
        return land(lane);
    res = __real_PQgetResult(conn);
    if (!lane->flying || res == NULL)
        return res;
    if (PQresultStatus(res) == PGRES_PIPELINE_SYNC) {
        PQclear(res);
        lane->ignore--;
        return NULL;
    }
    lane->got++;
    return res;
}
