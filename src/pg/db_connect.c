/* Opens a connection: connect, check for a pooler, identify the host, migrate the schema, prepare the statements. */
#include "pg/db_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "pg/hosts.h"
#include "pg/migrate.h"
#include "pg/session.h"

#define CONNECT_TIMEOUT_US (10 * US_PER_S)
/* With several hosts. A connect_timeout in the connection string replaces both. */
#define HOST_TIMEOUT_US (3 * US_PER_S)

/* Recognises the warning by its function in Postgres' source. Its text depends on the language, and its SQLSTATE is
 * that of all warnings. */
static bool tells_of_a_cancelled_wait(const PGresult *res) {
    const char *function = PQresultErrorField(res, PG_DIAG_SOURCE_FUNCTION);

    return function != NULL && strcmp(function, "SyncRepWaitForLSN") == 0;
}

static void on_notice(void *arg, const PGresult *res) {
    struct db_lane *lane = arg;
    const char *text = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

    if (tells_of_a_cancelled_wait(res))
        lane->wait_cancelled = true;

    log_verbose(lane_who(lane), "%s: %s", PQresultErrorField(res, PG_DIAG_SEVERITY),
                text != NULL ? text : "");
}

static int64_t patience(void) {
    if (hosts_timeout_us() > 0)
        return hosts_timeout_us();
    return hosts_count() > 1 ? HOST_TIMEOUT_US : CONNECT_TIMEOUT_US;
}

void lane_connect(struct db_lane *lane) {
    lane->state = DB_CONNECTING;
    place_choose(lane);
    lane->conn = session_connect(lane->host, lane->name);
    if (PQstatus(lane->conn) == CONNECTION_BAD) {
        lane_broken(lane);
        return;
    }
    PQsetNoticeReceiver(lane->conn, on_notice, lane);
    lane_arm_timer(lane, patience());
    lane_watch(lane, true);
}

static bool is_waiting(const struct db_lane *lane) {
    return lane->state == DB_CHECKING && pooler_waits(&lane->pooler);
}

/* A text with several statements cannot have parameters. */
static void step_send(struct db_lane *lane, const char *text, int count, const char *const *values) {
    int sent = count > 0 ? PQsendQueryParams(lane->conn, text, count, NULL, values, NULL, NULL, 0)
                         : PQsendQuery(lane->conn, text);

    if (sent != 1 || !lane_send_all(lane))
        lane_broken(lane);
}

const char *durability_setting(enum durability durability) {
    static const char *const settings[] = {
#define X(id, name, setting) setting,
        DURABILITIES(X)
#undef X
    };

    return settings[durability];
}

bool send_durability(PGconn *conn, enum durability durability, bool transaction) {
    const char *values[] = { durability_setting(durability), transaction ? "true" : "false" };

    return PQsendQueryPrepared(conn, sql_texts[SQL_SET_DURABILITY].name, 2, values, NULL, NULL, 1) == 1;
}

/* The connection for reads never waits for standbys, because it queries their state. Its own writes may be lost. */
static enum durability usual_durability(enum lane_kind kind) {
    enum durability set = (enum durability)config.durability;

    return kind == LANE_SIDE && set < DURABILITY_LOCAL ? DURABILITY_LOCAL : set;
}

/* Sends the session's settings and all statements with one Sync. */
static bool prepare_send(struct db_lane *lane) {
    bool ok = PQenterPipelineMode(lane->conn) == 1 &&
              PQsendQueryParams(lane->conn, sql_session, 0, NULL, NULL, NULL, NULL, 0) == 1 &&
              PQsendQueryParams(lane->conn, sql_takeover, 0, NULL, NULL, NULL, NULL, 0) == 1;

    for (int i = 0; ok && i < SQL_COUNT; i++)
        ok = PQsendPrepare(lane->conn, sql_texts[i].name, sql_texts[i].text, 0, NULL) == 1;
    lane->state = DB_PREPARING;
    lane->durability = usual_durability(lane->kind);
    return ok && send_durability(lane->conn, lane->durability, false) && PQpipelineSync(lane->conn) == 1 &&
           lane_send_all(lane);
}

/* At the start the process ends. A server that was ready before keeps trying, as for a database that is down. */
static void distrust(struct db_lane *lane) {
    if (!db.was_ready)
        log_fatal(lane_who(lane), "%s", lane->migrate->error);
    lane_down(lane, lane->migrate->error);
}

static void migrate_step(struct db_lane *lane) {
    struct migrate *m = lane->migrate;

    switch (migrate_next(m, lane->step_result)) {
    case MIGRATE_SEND:
        step_send(lane, m->text, m->count, m->values);
        break;
    case MIGRATE_DONE:
        if (!prepare_send(lane))
            lane_broken(lane);
        break;
    case MIGRATE_DISTRUST:
        distrust(lane);
        break;
    case MIGRATE_REFUSE:
        log_fatal(lane_who(lane), "%s", m->error);
    }
}

static void identify_start(struct db_lane *lane) {
    PQclear(lane->step_result);
    lane->step_result = NULL;
    lane->state = DB_IDENTIFYING;
    step_send(lane, sql_identify, 0, NULL);
}

static void identify_done(struct db_lane *lane) {
    if (!place_accept(lane, lane->step_result))
        return;
    PQclear(lane->step_result);
    lane->step_result = NULL;
    lane_arm_timer(lane, CONNECT_TIMEOUT_US);
    lane->state = DB_MIGRATING;
    lane->migrate = xcalloc(1, sizeof *lane->migrate);
    migrate_step(lane);
}

static void check_step(struct db_lane *lane) {
    lane_arm_timer(lane, patience());
    switch (pooler_next(&lane->pooler, PQbackendPID(lane->conn), lane->step_result)) {
    case POOLER_SEND:
        step_send(lane, sql_pooler, 1, lane->pooler.values);
        break;
    case POOLER_WAIT:
        lane_arm_timer(lane, POOLER_WAIT_US);
        break;
    case POOLER_FINE:
        identify_start(lane);
        break;
    case POOLER_REFUSE:
        log_fatal(lane_who(lane), "%s", lane->pooler.error);
    }
}

static void connected(struct db_lane *lane) {
    PQsetnonblocking(lane->conn, 1);
    db.server_version = PQserverVersion(lane->conn);
    if (db.server_version < 140000)
        log_fatal(lane_who(lane), "the database server is PostgreSQL %d: 14 or newer is needed",
                  db.server_version / 10000);
    lane_watch(lane, false);
    lane->state = DB_CHECKING;
    check_step(lane);
}

static void connecting_step(struct db_lane *lane) {
    switch (PQconnectPoll(lane->conn)) {
    case PGRES_POLLING_READING:
        lane_watch(lane, false);
        break;
    case PGRES_POLLING_WRITING:
        lane_watch(lane, true);
        break;
    case PGRES_POLLING_OK:
        connected(lane);
        break;
    default:
        lane_broken(lane);
    }
}

static void step_done(struct db_lane *lane) {
    if (lane->state == DB_CHECKING)
        check_step(lane);
    else if (lane->state == DB_IDENTIFYING)
        identify_done(lane);
    else
        migrate_step(lane);
}

/* Is the error temporary: class 57 (cancelled, shutdown), or the end of the session? */
static bool is_passing(const PGresult *res) {
    const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);

    return state == NULL || strncmp(state, "57", 2) == 0;
}

/* An error of identify.sql is accepted unless it is temporary, because databases that resemble Postgres may lack its
 * functions. */
static bool is_fatal(const struct db_lane *lane, const PGresult *res) {
    return result_is_error(res) && (lane->state != DB_IDENTIFYING || is_passing(res));
}

/* A text with several statements gives several results; the last one counts. While the pooler check waits, no statement
 * was sent. An error of the ending session is then not taken for a result. */
static void step_results(struct db_lane *lane) {
    while (!is_waiting(lane) && !PQisBusy(lane->conn)) {
        PGresult *res = PQgetResult(lane->conn);

        if (res == NULL) {
            step_done(lane);
            return;
        }
        if (is_fatal(lane, res)) {
            PQclear(res);
            lane_broken(lane);
            return;
        }
        PQclear(lane->step_result);
        lane->step_result = res;
    }
}

/* Is this the result of takeover.sql, and does an older session of this server still run? */
static bool left_behind(const PGresult *res) {
    if (PQresultStatus(res) != PGRES_TUPLES_OK || strcmp(PQfname(res, 0), "gone") != 0)
        return false;
    for (int i = 0; i < PQntuples(res); i++)
        if (PQgetvalue(res, i, 0)[0] != 't')
            return true;
    return false;
}

static void preparing_step(struct db_lane *lane) {
    while (!PQisBusy(lane->conn)) {
        PGresult *res = PQgetResult(lane->conn);
        ExecStatusType status = PQresultStatus(res);
        bool error = res != NULL && result_is_error(res);
        const char *why = left_behind(res)        ? "an older session of this server does not end"
                          : pooler_lent_used(res) ? POOLER_LENT_USED
                                                  : NULL;

        PQclear(res);
        if (why != NULL) {
            lane_down(lane, why);
            return;
        }
        if (error || PQstatus(lane->conn) == CONNECTION_BAD) {
            lane_broken(lane);
            return;
        }
        if (status == PGRES_PIPELINE_SYNC) {
            lane_ready(lane);
            return;
        }
    }
}

void lane_connect_step(struct db_lane *lane) {
    if (lane->state == DB_CONNECTING) {
        connecting_step(lane);
        return;
    }
    if (!PQconsumeInput(lane->conn) || !lane_send_all(lane))
        lane_broken(lane);
    else if (lane->state == DB_PREPARING)
        preparing_step(lane);
    else
        step_results(lane);
}

void lane_connect_timer(struct db_lane *lane) {
    if (is_waiting(lane))
        check_step(lane);
    else
        lane_down(lane, "no answer in time");
}
