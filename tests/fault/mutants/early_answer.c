/* A server that answers before the commit. wraps: PQpipelineSync PQsendQueryPrepared PQgetResult */
#include <stdbool.h>
#include <stddef.h>
#include <libpq-fe.h>

/*
 * What a flight asks for is done when its statements have results; the Sync that commits them goes out
 * only before the next flight, or as the next heartbeat. So the caller learns of a commit that has not
 * happened yet.
 */
#define LANES_MOST 8
#define FLIGHTS_MOST 2

int __real_PQpipelineSync(PGconn *conn);
int __wrap_PQpipelineSync(PGconn *conn);
int __real_PQsendQueryPrepared(PGconn *conn, const char *name, int count, const char *const *values,
                               const int *lengths, const int *formats, int format);
int __wrap_PQsendQueryPrepared(PGconn *conn, const char *name, int count, const char *const *values,
                               const int *lengths, const int *formats, int format);
PGresult *__real_PQgetResult(PGconn *conn);
PGresult *__wrap_PQgetResult(PGconn *conn);

struct flight {
    unsigned sent; /* statements */
    unsigned got;  /* results */
};

static struct lane {
    PGconn *conn;
    int pid;                             /* of the session: a connection's memory may be used again */
    unsigned making;                     /* statements of the flight that is not complete yet */
    struct flight flights[FLIGHTS_MOST]; /* under way, the oldest first */
    unsigned flying;
    bool open;       /* the last flight is not committed yet */
    unsigned beats;  /* Syncs that carry nothing: their results are the caller's */
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

    if (lane->making == 0 && lane->open) {
        if (__real_PQpipelineSync(conn) != 1)
            return 0;
        lane->open = false;
        lane->ignore++;
    }
    lane->making++;
    return __real_PQsendQueryPrepared(conn, name, count, values, lengths, formats, format);
}

int __wrap_PQpipelineSync(PGconn *conn) {
    struct lane *lane = lane_of(conn);

    if (lane->making == 0) {
        lane->open = false;
        lane->beats++;
        return __real_PQpipelineSync(conn);
    }
    lane->flights[lane->flying++] = (struct flight){ .sent = lane->making };
    lane->making = 0;
    lane->open = true;
    return PQsendFlushRequest(conn);
}

static PGresult *land(struct lane *lane) {
    lane->flights[0] = lane->flights[1];
    lane->flying--;
    return PQmakeEmptyPGresult(lane->conn, PGRES_PIPELINE_SYNC);
}

/* A Sync that carries nothing goes out when nothing is under way: its result comes before all others. */
static PGresult *synced(struct lane *lane, PGresult *res) {
    if (lane->beats > 0) {
        lane->beats--;
        return res;
    }
    lane->ignore--;
    PQclear(res);
    return NULL;
}

PGresult *__wrap_PQgetResult(PGconn *conn) {
    struct lane *lane = lane_of(conn);
    struct flight *first = &lane->flights[0];
    PGresult *res;

    if (lane->flying > 0 && first->got == first->sent)
        return land(lane);
    res = __real_PQgetResult(conn);
    if (res == NULL)
        return NULL;
    if (PQresultStatus(res) == PGRES_PIPELINE_SYNC)
        return synced(lane, res);
    if (lane->flying > 0)
        first->got++;
    return res;
}
