/* Lanes: non-blocking libpq connections in pipeline mode, flights that land in order. */
#include "db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "migrate.h"
#include "node.h"
#include "stats.h"

#define BACKOFF_FIRST_US (20 * US_PER_MS)
#define BACKOFF_LAST_US (2 * US_PER_S)
#define PATIENCE_US (500 * US_PER_MS)
#define CONNECT_TIMEOUT_US (10 * US_PER_S)
/* So long a lane may be silent, idle or not; then it is asked, and so often. */
#define QUIET_US (3 * US_PER_S)
/* Between two looks at a session that seems to wait for us. */
#define DOUBT_US US_PER_S
#define DOUBTS 2

static struct {
    struct event_base *base;
    const char *conninfo;
    const struct db_hooks *hooks;
    int server_version;
    char last_error[512];
} db;

static void lane_step(struct db_lane *lane);
static void stir(struct db_lane *lane);

static const char *const state_names[] = {
#define X(id, name) name,
    DB_STATES(X)
#undef X
};

const char *db_state_name(enum db_state state) {
    return state_names[state];
}

const char *db_last_error(void) {
    return db.last_error;
}

int db_server_version(void) {
    return db.server_version;
}

static const char *who(const struct db_lane *lane) {
    static char text[48];

    snprintf(text, sizeof text, "db %s", lane->name);
    return text;
}

/* libpq's messages end in a newline and may have several lines. */
static void remember_error(const char *text) {
    snprintf(db.last_error, sizeof db.last_error, "%s", text);
    for (char *c = db.last_error; *c != '\0'; c++)
        if (*c == '\n')
            *c = c[1] == '\0' ? '\0' : ' ';
}

/* ---- events ---- */

static void on_io(evutil_socket_t fd, short what, void *arg) {
    struct db_lane *lane = arg;

    (void)fd;
    (void)what;
    if (lane->state >= DB_READY)
        stir(lane);
    lane_step(lane);
}

static void watch(struct db_lane *lane, bool write) {
    short what = (short)(EV_PERSIST | EV_READ | (write ? EV_WRITE : 0));

    if (lane->io_event != NULL)
        event_free(lane->io_event);
    lane->io_event = event_new(db.base, PQsocket(lane->conn), what, on_io, lane);
    lane->want_write = write;
    event_add(lane->io_event, NULL);
}

static void arm_timer(struct db_lane *lane, int64_t us) {
    struct timeval tv = { us / US_PER_S, us % US_PER_S };

    event_add(lane->retry_event, &tv);
}

/* ---- going down ---- */

static void flight_clear(struct db_flight *f) {
    for (size_t i = 0; i < f->collected; i++)
        PQclear(f->results[i]);
    f->collected = 0;
    f->sent = 0;
    f->failed = false;
}

static void disconnect(struct db_lane *lane) {
    if (lane->io_event != NULL) {
        event_free(lane->io_event);
        lane->io_event = NULL;
    }
    PQclear(lane->step_result);
    lane->step_result = NULL;
    free(lane->migrate);
    lane->migrate = NULL;
    probe_stop(&lane->probe);
    lane->beating = false;
    lane->doubts = 0;
    PQfinish(lane->conn);
    lane->conn = NULL;
}

static struct db_flight *oldest(struct db_lane *lane) {
    return &lane->flights[lane->oldest];
}

/* Where the next statement goes. */
static struct db_flight *in_making(struct db_lane *lane) {
    return &lane->flights[(lane->oldest + lane->flying) % DB_MAX_FLIGHTS];
}

/* The oldest flight is over. */
static void land(struct db_lane *lane, const struct db_result *result) {
    struct db_flight *f = oldest(lane);

    lane->oldest = (lane->oldest + 1) % DB_MAX_FLIGHTS;
    lane->flying--;
    f->on_landed(lane, result);
    flight_clear(f);
}

static void all_lost(struct db_lane *lane) {
    while (lane->flying > 0) {
        struct db_result lost = { .outcome = DB_LOST, .count = oldest(lane)->sent };

        stats.flights_lost++;
        land(lane, &lost);
    }
    flight_clear(in_making(lane));
    lane->broken = false;
}

static void lane_down(struct db_lane *lane, const char *why) {
    bool was_up = lane->state >= DB_READY;

    remember_error(why);
    /* A Postgres that is just starting takes some tries; that is nothing to warn of. */
    log_line(was_up || lane->backoff_us > PATIENCE_US ? LOG_WARNING_ : LOG_VERBOSE_, who(lane),
             "%s while %s: %s; next try in %d ms", was_up ? "connection lost" : "cannot connect",
             db_state_name(lane->state), db.last_error, (int)(lane->backoff_us / US_PER_MS));
    disconnect(lane);
    lane->state = DB_DOWN;
    arm_timer(lane, lane->backoff_us);
    lane->backoff_us = lane->backoff_us * 2 > BACKOFF_LAST_US ? BACKOFF_LAST_US : lane->backoff_us * 2;
    all_lost(lane);
    if (was_up) {
        stats.db_disconnects++;
        db.hooks->on_down(lane);
    }
}

static void lane_broken(struct db_lane *lane) {
    char why[512];

    snprintf(why, sizeof why, "%s", PQerrorMessage(lane->conn));
    lane_down(lane, why);
}

static bool flush(struct db_lane *lane) {
    int left = PQflush(lane->conn);

    if (left < 0)
        return false;
    if ((left > 0) != lane->want_write)
        watch(lane, left > 0);
    return true;
}

struct session_name {
    char text[64];
};

static struct session_name session_name(const char *what) {
    struct session_name name;

    snprintf(name.text, sizeof name.text, "pgdisque %.8s %s", node_self()->id, what);
    return name;
}

/* What stands before dbname can be overridden by the user's conninfo; the name of the
 * session cannot. */
static PGconn *connect_start(const char *what) {
    static const char *const keys[] = { "keepalives_idle",  "keepalives_interval",
                                        "keepalives_count", "tcp_user_timeout",
                                        "dbname",           "application_name",
                                        "client_encoding",  NULL };
    struct session_name name = session_name(what);
    const char *values[] = { "5", "3", "3", "10000", db.conninfo, name.text, "SQL_ASCII", NULL };
    PGconn *conn = PQconnectStartParams(keys, values, 1);

    if (conn == NULL)
        log_fatal("db", "out of memory");
    return conn;
}

/* ---- deaf connections ---- */

static bool awaits_answer(const struct db_lane *lane) {
    return lane->beating || lane->flying > 0;
}

/* A sign of life, or the begin of waiting for one. */
static void stir(struct db_lane *lane) {
    lane->stirred_us = clock_mono();
    lane->doubts = 0;
    if (probe_is_running(&lane->probe)) {
        probe_stop(&lane->probe);
        arm_timer(lane, QUIET_US);
    }
}

static void on_answer(void *arg, enum probe_answer answer) {
    struct db_lane *lane = arg;

    if (answer == PROBE_SILENCE) {
        lane_down(lane, "no answer, nor to a second connection");
        return;
    }
    if (answer == PROBE_WORKS)
        lane->doubts = 0;
    if (answer == PROBE_WAITS && ++lane->doubts == DOUBTS) {
        lane_down(lane, "no answer, while the session waits: the connection is deaf");
        return;
    }
    arm_timer(lane, answer == PROBE_WORKS ? QUIET_US : DOUBT_US);
}

/* A Sync alone: the session answers it without a transaction. */
static void beat(struct db_lane *lane) {
    stir(lane);
    lane->beating = true;
    arm_timer(lane, QUIET_US);
    if (PQpipelineSync(lane->conn) != 1 || !flush(lane))
        lane_broken(lane);
}

static void look_after(struct db_lane *lane) {
    int64_t left = lane->stirred_us + QUIET_US - clock_mono();

    if (left > 0)
        arm_timer(lane, left);
    else if (!awaits_answer(lane))
        beat(lane);
    else
        probe_start(&lane->probe, db.base, connect_start("probe"), session_name(lane->name).text, on_answer,
                    lane);
}

/* ---- connecting ---- */

static void on_notice(void *arg, const PGresult *res) {
    const struct db_lane *lane = arg;
    const char *text = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

    log_verbose(who(lane), "%s: %s", PQresultErrorField(res, PG_DIAG_SEVERITY), text != NULL ? text : "");
}

static void lane_connect(struct db_lane *lane) {
    lane->state = DB_CONNECTING;
    lane->conn = connect_start(lane->name);
    if (PQstatus(lane->conn) == CONNECTION_BAD) {
        lane_broken(lane);
        return;
    }
    PQsetNoticeReceiver(lane->conn, on_notice, lane);
    arm_timer(lane, CONNECT_TIMEOUT_US);
    watch(lane, true);
}

static void on_timer(evutil_socket_t fd, short what, void *arg) {
    struct db_lane *lane = arg;

    (void)fd;
    (void)what;
    if (lane->state == DB_DOWN)
        lane_connect(lane);
    else if (lane->state < DB_READY)
        lane_down(lane, "no answer in time");
    else
        look_after(lane);
}

static bool migrate_send(struct db_lane *lane) {
    const struct migrate *m = lane->migrate;
    int sent = m->count > 0 ? PQsendQueryParams(lane->conn, m->text, m->count, NULL, m->values, NULL, NULL, 0)
                            : PQsendQuery(lane->conn, m->text);

    return sent == 1 && flush(lane);
}

/* One Sync for the session's settings and all statements. */
static bool prepare_send(struct db_lane *lane) {
    bool ok = PQenterPipelineMode(lane->conn) == 1 &&
              PQsendQueryParams(lane->conn, sql_session, 0, NULL, NULL, NULL, NULL, 0) == 1 &&
              PQsendQueryParams(lane->conn, sql_takeover, 0, NULL, NULL, NULL, NULL, 0) == 1;

    for (int i = 0; ok && i < SQL_COUNT; i++)
        ok = PQsendPrepare(lane->conn, sql_texts[i].name, sql_texts[i].text, 0, NULL) == 1;
    lane->state = DB_PREPARING;
    return ok && PQpipelineSync(lane->conn) == 1 && flush(lane);
}

static void migrate_step(struct db_lane *lane) {
    switch (migrate_next(lane->migrate, lane->step_result)) {
    case MIGRATE_SEND:
        if (!migrate_send(lane))
            lane_broken(lane);
        break;
    case MIGRATE_DONE:
        if (!prepare_send(lane))
            lane_broken(lane);
        break;
    case MIGRATE_REFUSE:
        log_fatal(who(lane), "%s", lane->migrate->error);
    }
}

static void connected(struct db_lane *lane) {
    PQsetnonblocking(lane->conn, 1);
    db.server_version = PQserverVersion(lane->conn);
    if (db.server_version < 140000)
        log_fatal(who(lane), "the database server is PostgreSQL %d: 14 or newer is needed",
                  db.server_version / 10000);
    watch(lane, false);
    lane->state = DB_MIGRATING;
    lane->migrate = xcalloc(1, sizeof *lane->migrate);
    migrate_step(lane);
}

static void connecting_step(struct db_lane *lane) {
    switch (PQconnectPoll(lane->conn)) {
    case PGRES_POLLING_READING:
        watch(lane, false);
        break;
    case PGRES_POLLING_WRITING:
        watch(lane, true);
        break;
    case PGRES_POLLING_OK:
        connected(lane);
        break;
    default:
        lane_broken(lane);
    }
}

static bool is_error(const PGresult *res) {
    ExecStatusType status = PQresultStatus(res);

    return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE;
}

/* A statement list gives several results; the last one counts. */
static void migrating_step(struct db_lane *lane) {
    while (!PQisBusy(lane->conn)) {
        PGresult *res = PQgetResult(lane->conn);

        if (res == NULL) {
            migrate_step(lane);
            return;
        }
        if (is_error(res)) {
            PQclear(res);
            lane_broken(lane);
            return;
        }
        PQclear(lane->step_result);
        lane->step_result = res;
    }
}

static void lane_ready(struct db_lane *lane) {
    lane->state = DB_READY;
    stir(lane);
    arm_timer(lane, QUIET_US);
    lane->backoff_us = BACKOFF_FIRST_US;
    db.last_error[0] = '\0';
    stats.db_connects++;
    log_notice(who(lane), "connected to PostgreSQL %d.%d", db.server_version / 10000,
               db.server_version % 10000);
    db.hooks->on_ready(lane);
}

/* Is this takeover.sql's result, and does an earlier session still run? */
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
        bool error = res != NULL && is_error(res);
        bool taken_over = !left_behind(res);

        PQclear(res);
        if (!taken_over) {
            lane_down(lane, "the session before this one does not end");
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

/* ---- a flight ---- */

static void note_error(struct db_flight *f, const PGresult *res) {
    const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

    if (f->failed)
        return;
    f->failed = true;
    f->failed_at = f->collected;
    snprintf(f->sqlstate, sizeof f->sqlstate, "%s", state != NULL ? state : "XX000");
    snprintf(f->message, sizeof f->message, "%s", text != NULL ? text : PQresultErrorMessage(res));
}

static void flight_done(struct db_lane *lane, struct db_flight *f) {
    struct db_result result = {
        .outcome = f->failed ? DB_FAILED : DB_COMMITTED,
        .count = f->sent,
        .rows = f->results,
        .failed_at = f->failed_at,
        .error = { f->sqlstate, f->message },
    };

    if (f->failed) {
        stats.flights_failed++;
        log_warning(who(lane), "transaction failed at statement %zu of %zu: %s (SQLSTATE %s)",
                    f->failed_at + 1, f->sent, f->message, f->sqlstate);
    }
    lane->state = lane->flying > 1 ? DB_FLYING : DB_READY;
    land(lane, &result);
}

/* The commit itself may fail too: then the Sync's place holds the error. */
static void flight_result(struct db_lane *lane, struct db_flight *f, PGresult *res) {
    if (res != NULL && is_error(res))
        note_error(f, res);
    if (res != NULL && f->collected < f->sent)
        f->results[f->collected++] = res;
    else
        PQclear(res);
    if (PQstatus(lane->conn) == CONNECTION_BAD)
        lane_broken(lane);
}

static void beating_step(struct db_lane *lane, PGresult *res) {
    lane->beating = PQresultStatus(res) != PGRES_PIPELINE_SYNC;
    PQclear(res);
    if (PQstatus(lane->conn) == CONNECTION_BAD)
        lane_broken(lane);
}

static void flying_step(struct db_lane *lane) {
    while (lane->state >= DB_READY && awaits_answer(lane) && !PQisBusy(lane->conn)) {
        PGresult *res = PQgetResult(lane->conn);

        if (res == NULL && PQstatus(lane->conn) == CONNECTION_OK)
            continue;
        if (lane->beating) {
            beating_step(lane, res);
        } else if (PQresultStatus(res) == PGRES_PIPELINE_SYNC) {
            PQclear(res);
            flight_done(lane, oldest(lane));
        } else {
            flight_result(lane, oldest(lane), res);
        }
    }
}

static void lane_step(struct db_lane *lane) {
    if (lane->state == DB_CONNECTING) {
        connecting_step(lane);
        return;
    }
    if (lane->conn == NULL)
        return;
    if (!PQconsumeInput(lane->conn) || !flush(lane)) {
        lane_broken(lane);
        return;
    }
    if (lane->state == DB_MIGRATING)
        migrating_step(lane);
    else if (lane->state == DB_PREPARING)
        preparing_step(lane);
    else if (lane->state >= DB_READY)
        flying_step(lane);
}

struct params *db_params(struct db_lane *lane) {
    return &lane->params;
}

void db_statement(struct db_lane *lane, enum sql_stmt stmt) {
    const char *values[PARAMS_MAX];
    int lengths[PARAMS_MAX];
    int formats[PARAMS_MAX];

    params_finish(&lane->params, values, lengths, formats);
    in_making(lane)->sent++;
    stats.statements++;
    if (PQsendQueryPrepared(lane->conn, sql_texts[stmt].name, lane->params.columns, values, lengths, formats,
                            1) != 1)
        lane->broken = true;
    params_reset(&lane->params);
}

void db_send(struct db_lane *lane, void (*on_landed)(struct db_lane *, const struct db_result *)) {
    if (!awaits_answer(lane))
        stir(lane);
    in_making(lane)->on_landed = on_landed;
    lane->flying++;
    lane->state = DB_FLYING;
    stats.flights++;
    if (lane->broken || PQpipelineSync(lane->conn) != 1 || !flush(lane))
        lane_broken(lane);
}

/* ---- life ---- */

void db_init(struct event_base *base, const char *conninfo, const struct db_hooks *hooks) {
    db.base = base;
    db.conninfo = conninfo;
    db.hooks = hooks;
}

struct db_lane *db_lane_new(const char *name, enum lane_kind kind) {
    struct db_lane *lane = xcalloc(1, sizeof *lane);

    lane->name = name;
    lane->kind = kind;
    lane->backoff_us = BACKOFF_FIRST_US;
    lane->retry_event = event_new(db.base, -1, 0, on_timer, lane);
    lane_connect(lane);
    return lane;
}

void db_lane_free(struct db_lane *lane) {
    disconnect(lane);
    for (size_t i = 0; i < DB_MAX_FLIGHTS; i++)
        flight_clear(&lane->flights[i]);
    event_free(lane->retry_event);
    params_free(&lane->params);
    free(lane);
}
