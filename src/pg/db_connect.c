/* Opens a connection: connect, check for a pooler, identify the host, migrate the schema, set up the session. */
#include "pg/db_connect.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "pg/conninfo_hosts.h"
#include "pg/db_private.h"
#include "pg/migrate.h"
#include "pg/primary_select.h"
#include "pg/session.h"

#define CONNECT_TIMEOUT_US (10 * US_PER_S)
/* A migration of large tables takes minutes. A statement goes on when its connection is closed, so a short limit would never
 * let it commit. */
#define MIGRATION_TIMEOUT_US (3600 * US_PER_S)
/* With several hosts. A connect_timeout in the connection string replaces both. */
#define HOST_TIMEOUT_US (3 * US_PER_S)

/* Recognises the warning by its function in Postgres' source. Its text depends on the language, and its SQLSTATE is
 * that of all warnings. */
static bool tells_of_a_cancelled_wait(const PGresult *res) {
    const char *function = PQresultErrorField(res, PG_DIAG_SOURCE_FUNCTION);

    return function != NULL && strcmp(function, "SyncRepWaitForLSN") == 0;
}

static void on_notice(void *arg, const PGresult *res) {
    struct db_conn *conn = arg;
    const char *text = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

    if (tells_of_a_cancelled_wait(res))
        conn->wait_cancelled = true;
    pooler_notice(&conn->pooler, res);
    log_verbose(conn_who(conn), "%s: %s", PQresultErrorField(res, PG_DIAG_SEVERITY),
                text != NULL ? text : "");
}

static int64_t db_connect_patience(void) {
    if (hosts_timeout_us() > 0)
        return hosts_timeout_us();
    return hosts_count() > 1 ? HOST_TIMEOUT_US : CONNECT_TIMEOUT_US;
}

void conn_connect(struct db_conn *conn) {
    conn->state = DB_CONNECTING;
    primary_choose(conn);
    conn->pg = session_connect(conn->host, conn->name);
    if (PQstatus(conn->pg) == CONNECTION_BAD) {
        conn_broken(conn);
        return;
    }
    PQsetNoticeReceiver(conn->pg, on_notice, conn);
    conn_arm_timer(conn, db_connect_patience());
    conn_watch(conn, true);
}

static bool db_connect_is_waiting(const struct db_conn *conn) {
    return conn->state == DB_CHECKING && pooler_waits(&conn->pooler);
}

/* A text with several statements cannot have parameters. */
static void step_send(struct db_conn *conn, const char *text, int count, const char *const *values) {
    int sent = count > 0 ? PQsendQueryParams(conn->pg, text, count, NULL, values, NULL, NULL, 0)
                         : PQsendQuery(conn->pg, text);

    if (sent != 1 || !conn_send_all(conn))
        conn_broken(conn);
}

const char *durability_setting(enum durability durability) {
    static const char *const settings[] = {
#define X(id, name, setting) setting,
        DURABILITIES(X)
#undef X
    };

    return settings[durability];
}

bool send_durability(PGconn *pg, enum durability durability, bool transaction) {
    const char *values[] = { durability_setting(durability), transaction ? "true" : "false" };

    return PQsendQueryPrepared(pg, sql_texts[SQL_SET_DURABILITY].name, 2, values, NULL, NULL, 1) == 1;
}

enum durability conn_durability(const struct db_conn *conn, enum durability wanted) {
    bool reads = conn->kind == CONN_READ || conn->kind == CONN_LONG;

    return reads && wanted < DURABILITY_LOCAL ? DURABILITY_LOCAL : wanted;
}

static bool add_session_text(struct db_conn *conn, const char *text) {
    return PQsendQueryParams(conn->pg, text, 0, NULL, NULL, NULL, NULL, 0) == 1;
}

/* Sends the session's settings and its first statements with one Sync. */
static bool prepare_send(struct db_conn *conn) {
    bool ok = PQenterPipelineMode(conn->pg) == 1 && add_session_text(conn, sql_session) &&
              (conn->kind != CONN_LONG || add_session_text(conn, sql_snapshots)) &&
              add_session_text(conn, sql_takeover) && prepared_begin(&conn->prepared, conn->pg);

    conn_arm_timer(conn, CONNECT_TIMEOUT_US);
    conn->state = DB_PREPARING;
    conn->durability = conn_durability(conn, (enum durability)config.durability);
    return ok && send_durability(conn->pg, conn->durability, false) && PQpipelineSync(conn->pg) == 1 &&
           conn_send_all(conn);
}

/* At the start the process ends. A server that was ready before keeps trying, as for a database that is down. */
static void distrust(struct db_conn *conn) {
    if (!db.was_ready)
        log_fatal(conn_who(conn), "%s", conn->migrate->error);
    conn_down(conn, conn->migrate->error);
}

static void migrate_step(struct db_conn *conn) {
    struct migrate *m = conn->migrate;

    switch (migrate_next(m, conn->step_result)) {
    case MIGRATE_SEND:
        conn_arm_timer(conn, m->may_be_slow ? MIGRATION_TIMEOUT_US : CONNECT_TIMEOUT_US);
        step_send(conn, m->text, m->count, m->values);
        break;
    case MIGRATE_DONE:
        if (!prepare_send(conn))
            conn_broken(conn);
        break;
    case MIGRATE_DISTRUST:
        distrust(conn);
        break;
    case MIGRATE_REFUSE:
        log_fatal(conn_who(conn), "%s", m->error);
    }
}

static void identify_start(struct db_conn *conn) {
    PQclear(conn->step_result);
    conn->step_result = NULL;
    conn->state = DB_IDENTIFYING;
    step_send(conn, sql_identify, 0, NULL);
}

static void identify_done(struct db_conn *conn) {
    if (!primary_accept(conn, conn->step_result))
        return;
    PQclear(conn->step_result);
    conn->step_result = NULL;
    conn->state = DB_MIGRATING;
    conn->migrate = xcalloc(1, sizeof *conn->migrate);
    migrate_step(conn);
}

static void check_step(struct db_conn *conn) {
    conn_arm_timer(conn, db_connect_patience());
    switch (pooler_next(&conn->pooler, PQbackendPID(conn->pg), conn->step_result)) {
    case POOLER_SEND:
        step_send(conn, sql_pooler, 1, conn->pooler.values);
        break;
    case POOLER_WAIT:
        conn_arm_timer(conn, POOLER_WAIT_US);
        break;
    case POOLER_FINE:
        identify_start(conn);
        break;
    case POOLER_REFUSE:
        log_fatal(conn_who(conn), "%s", conn->pooler.error);
    }
}

static void connected(struct db_conn *conn) {
    PQsetnonblocking(conn->pg, 1);
    db.server_version = PQserverVersion(conn->pg);
    if (db.server_version < 140000)
        log_fatal(conn_who(conn), "the database server is PostgreSQL %d: 14 or newer is needed",
                  db.server_version / 10000);
    conn_watch(conn, false);
    conn->state = DB_CHECKING;
    check_step(conn);
}

static void db_connect_connecting_step(struct db_conn *conn) {
    switch (PQconnectPoll(conn->pg)) {
    case PGRES_POLLING_READING:
        conn_watch(conn, false);
        break;
    case PGRES_POLLING_WRITING:
        conn_watch(conn, true);
        break;
    case PGRES_POLLING_OK:
        connected(conn);
        break;
    default:
        conn_broken(conn);
    }
}

static void step_done(struct db_conn *conn) {
    if (conn->state == DB_CHECKING)
        check_step(conn);
    else if (conn->state == DB_IDENTIFYING)
        identify_done(conn);
    else
        migrate_step(conn);
}

/* Is the error temporary: class 57 (cancelled, shutdown), or the end of the session? */
static bool is_passing(const PGresult *res) {
    const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);

    return state == NULL || strncmp(state, "57", 2) == 0;
}

/* An error of identify.sql is accepted unless it is temporary, because databases that resemble Postgres may lack its
 * functions. */
static bool is_fatal(const struct db_conn *conn, const PGresult *res) {
    return result_is_error(res) && (conn->state != DB_IDENTIFYING || is_passing(res));
}

/* A text with several statements gives several results; the last one counts. While the pooler check waits, no statement
 * was sent. An error of the ending session is then not taken for a result. */
static void step_results(struct db_conn *conn) {
    while (!db_connect_is_waiting(conn) && !PQisBusy(conn->pg)) {
        PGresult *res = PQgetResult(conn->pg);

        if (res == NULL) {
            step_done(conn);
            return;
        }
        if (is_fatal(conn, res)) {
            PQclear(res);
            conn_broken(conn);
            return;
        }
        PQclear(conn->step_result);
        conn->step_result = res;
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

static void preparing_step(struct db_conn *conn) {
    while (!PQisBusy(conn->pg)) {
        PGresult *res = PQgetResult(conn->pg);
        ExecStatusType status = PQresultStatus(res);
        bool error = res != NULL && result_is_error(res);
        const char *why = left_behind(res)        ? "an older session of this server does not end"
                          : pooler_lent_used(res) ? POOLER_LENT_USED
                                                  : NULL;

        PQclear(res);
        if (why != NULL) {
            conn_down(conn, why);
            return;
        }
        if (error || PQstatus(conn->pg) == CONNECTION_BAD) {
            conn_broken(conn);
            return;
        }
        if (status == PGRES_PIPELINE_SYNC) {
            conn_ready(conn);
            return;
        }
    }
}

void conn_connect_step(struct db_conn *conn) {
    if (conn->state == DB_CONNECTING) {
        db_connect_connecting_step(conn);
        return;
    }
    if (!PQconsumeInput(conn->pg) || !conn_send_all(conn))
        conn_broken(conn);
    else if (conn->state == DB_PREPARING)
        preparing_step(conn);
    else
        step_results(conn);
}

void conn_connect_timer(struct db_conn *conn) {
    if (db_connect_is_waiting(conn))
        check_step(conn);
    else
        conn_down(conn, "no answer in time");
}
