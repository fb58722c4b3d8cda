/* Checks the database over a separate connection. */
#include "admin/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "admin/doctor_here.h"
#include "base/clock.h"
#include "config/config.h"
#include "pg/conninfo_hosts.h"
#include "pg/db_connect.h"
#include "pg/session.h"
#include "sql_gen.h"

/* Time limit of each step of connecting and checking. Statements have a shorter timeout. */
#define DOCTOR_PATIENCE_US (6 * US_PER_S)

#define ANY_VERSION 999999
#define TEXT_OID 25

/* The checks in their order. Columns of each result: severity, finding, advice. */
static const struct check {
    const char *name;
    enum doctor_stmt stmt;
    const char *needs; /* a table of the schema pgdisque; NULL: none */
    int from, below;   /* versions of Postgres: at least from, and less than below */
} checks[] = {
    { "schema", DOCTOR_VERSION, "migration", 0, ANY_VERSION },
    { "indexes", DOCTOR_INDEXES, "job", 0, ANY_VERSION },
    { "settings", DOCTOR_SETTINGS, NULL, 0, ANY_VERSION },
    { "wraparound", DOCTOR_WRAPAROUND, NULL, 0, ANY_VERSION },
    { "held-back", DOCTOR_SESSIONS, NULL, 0, ANY_VERSION },
    { "held-back", DOCTOR_PREPARED, NULL, 0, ANY_VERSION },
    { "held-back", DOCTOR_FEEDBACK, NULL, 0, ANY_VERSION },
    { "slots", DOCTOR_SLOTS, NULL, 0, ANY_VERSION },
    { "dead-rows", DOCTOR_TABLES, "job", 0, ANY_VERSION },
    { "space", DOCTOR_SPACE, "job", 0, ANY_VERSION },
    { "space", DOCTOR_INDEX_SPACE, "job", 0, ANY_VERSION },
    { "standbys", DOCTOR_STANDBYS, NULL, 0, ANY_VERSION },
    { "connections", DOCTOR_CONNECTIONS, NULL, 0, ANY_VERSION },
    { "checkpoints", DOCTOR_CHECKPOINTS, NULL, 0, 170000 },
    { "checkpoints", DOCTOR_CHECKPOINTS_17, NULL, 170000, ANY_VERSION },
    { "servers", DOCTOR_NODES, "node", 0, ANY_VERSION },
    { "ready-jobs", DOCTOR_READY, "job", 0, ANY_VERSION },
    { "running-jobs", DOCTOR_RUNNING, "job", 0, ANY_VERSION },
    { "dead-jobs", DOCTOR_DEAD, "dead_job", 0, ANY_VERSION },
};

_Static_assert(LENGTH(checks) == DOCTOR_COUNT, "each file of sql/doctor/ is a check");

/* Values of struct doctor.step. From 0 on, the step is the index of a check. */
enum { STEP_CONNECTING = -4, STEP_POOLER, STEP_SESSION, STEP_OPEN };

static struct event_base *loop;

void doctor_init(struct event_base *base) {
    loop = base;
}

/* The wall clock now, not at the start of the turn, because it is compared with the database's clock. */
static int64_t wall_clock(void) {
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * US_PER_S + now.tv_nsec / 1000;
}

/* ---- connection ---- */

static void on_doctor_io(evutil_socket_t fd, short what, void *arg);

static void doctor_drop_io(struct doctor *d) {
    if (d->io != NULL)
        event_free(d->io);
    d->io = NULL;
}

static void drop_connection(struct doctor *d) {
    doctor_drop_io(d);
    PQclear(d->answer);
    d->answer = NULL;
    PQfinish(d->conn);
    d->conn = NULL;
}

static void patience(struct doctor *d, int64_t us) {
    struct timeval tv = { us / US_PER_S, us % US_PER_S };

    event_add(d->timer, &tv);
}

/* libpq may use another socket after each step of connecting. */
static void doctor_watch(struct doctor *d, short what) {
    doctor_drop_io(d);
    d->io = event_new(loop, PQsocket(d->conn), what, on_doctor_io, d);
    event_add(d->io, NULL);
    patience(d, DOCTOR_PATIENCE_US);
}

static void doctor_end(struct doctor *d) {
    drop_connection(d);
    event_free(d->timer);
    d->timer = NULL;
    free(d->tables);
    d->tables = NULL;
    doctor_look_here(&d->findings);
    d->on_end(d->arg);
}

/* A connection that failed at once has no socket. The timer then reports the failure. */
static void connect_to(struct doctor *d, size_t host) {
    d->host = host;
    d->step = STEP_CONNECTING;
    d->conn = session_connect(host, "doctor");
    if (PQstatus(d->conn) == CONNECTION_BAD)
        patience(d, 0);
    else
        doctor_watch(d, EV_WRITE);
}

static void next_host(struct doctor *d, const char *why) {
    snprintf(d->why, sizeof d->why, "%s%s%.*s", hosts_name(d->host), *hosts_name(d->host) ? ": " : "",
             (int)strcspn(why, "\n"), why);
    drop_connection(d);
    if (++d->tried < hosts_count() && d->tables == NULL) {
        connect_to(d, (d->host + 1) % hosts_count());
        return;
    }
    findings_addf(
        &d->findings, SEVERITY_ERROR, "connection",
        "make sure that Postgres runs and that the option database points to it; see the log of Postgres",
        "the database cannot be reached: %s", d->why);
    doctor_end(d);
}

/* ---- statements ---- */

static void doctor_ask(struct doctor *d, int step);

static bool applies(const struct doctor *d, const struct check *c) {
    char word[64];
    int version = PQserverVersion(d->conn);

    snprintf(word, sizeof word, ",%s,", c->needs == NULL ? "" : c->needs);
    return version >= c->from && version < c->below && (c->needs == NULL || strstr(d->tables, word) != NULL);
}

/* All checks get the same parameters. A parameter that a statement does not use needs a type, too. */
static bool send_check(struct doctor *d, const struct check *c) {
    static const Oid types[] = { TEXT_OID, TEXT_OID, TEXT_OID, TEXT_OID };
    char seconds[16], version[16];
    const char *values[] = { seconds, sql_indexes, durability_setting((enum durability)config.durability),
                             version };

    snprintf(seconds, sizeof seconds, "%d", config.doctor_patience);
    snprintf(version, sizeof version, "%d", sql_migrations[sql_migration_count - 1].version);
    return PQsendQueryParams(d->conn, doctor_texts[c->stmt].text, LENGTH(types), types, values, NULL, NULL,
                             0) == 1;
}

/* Tests for a pooler as the server does at its start. */
static void look_for_pooler(struct doctor *d) {
    d->step = STEP_POOLER;
    switch (pooler_next(&d->pooler, PQbackendPID(d->conn), d->answer)) {
    case POOLER_SEND:
        if (PQsendQueryParams(d->conn, sql_pooler, 1, NULL, d->pooler.values, NULL, NULL, 0) == 1)
            doctor_watch(d, EV_READ);
        else
            next_host(d, PQerrorMessage(d->conn));
        break;
    case POOLER_WAIT:
        doctor_watch(d, EV_READ);
        patience(d, POOLER_WAIT_US);
        break;
    case POOLER_FINE:
        doctor_ask(d, STEP_SESSION);
        break;
    case POOLER_REFUSE:
        findings_add(&d->findings, SEVERITY_ERROR, "pooler", d->pooler.error,
                     "no server starts with this connection string");
        doctor_end(d);
    }
}

static void on_doctor_notice(void *arg, const PGresult *notice) {
    struct doctor *d = arg;

    pooler_notice(&d->pooler, notice);
}

/* The connection ended. Connects again at once if the test for a pooler may have ended it. */
static void doctor_lost(struct doctor *d) {
    if (d->step != STEP_POOLER || !pooler_lost(&d->pooler)) {
        next_host(d, PQerrorMessage(d->conn));
        return;
    }
    drop_connection(d);
    connect_to(d, d->host);
}

static bool send_step(struct doctor *d) {
    PQclear(d->answer);
    d->answer = NULL;
    d->asked_us = wall_clock();
    if (d->step == STEP_SESSION)
        return PQsendQuery(d->conn, sql_session) == 1;
    if (d->step == STEP_OPEN)
        return PQsendQuery(d->conn, sql_doctor_open) == 1;
    d->findings.checks++;
    return send_check(d, &checks[d->step]);
}

static void doctor_ask(struct doctor *d, int step) {
    while (step >= 0 && step < (int)LENGTH(checks) && !applies(d, &checks[step]))
        step++;
    d->step = step;
    if (step == (int)LENGTH(checks))
        doctor_end(d);
    else if (send_step(d))
        doctor_watch(d, EV_READ);
    else
        next_host(d, PQerrorMessage(d->conn));
}

/* ---- results ---- */

static void doctor_not_seen(struct findings *f, const char *check, const PGresult *res) {
    const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

    findings_addf(f, SEVERITY_NOTE, check,
                  state != NULL && strcmp(state, "42501") == 0
                      ? "grant the right to the role of the option database, or use another role"
                      : "try again later; see the log of Postgres",
                  "this check failed: %s", text == NULL ? "no answer" : text);
}

static void take_findings(struct findings *f, const char *check, const PGresult *res) {
    for (int i = 0; i < PQntuples(res); i++) {
        enum severity severity;

        if (severity_read(PQgetvalue(res, i, 0), &severity))
            findings_add(f, severity, check, PQgetvalue(res, i, 1), PQgetvalue(res, i, 2));
    }
}

static void look_at_opening(struct doctor *d, const PGresult *res) {
    int64_t now = wall_clock();

    d->tables = xstrdup(PQgetvalue(res, 0, 3));
    d->findings.checks += 4;
    doctor_note_clock(&d->findings, atoll(PQgetvalue(res, 0, 1)), d->asked_us, now);
    if (atoi(PQgetvalue(res, 0, 0)) != PQbackendPID(d->conn))
        findings_add(&d->findings, SEVERITY_NOTE, "pooler",
                     "there is a pooler between this server and the database",
                     "nothing, if it gives each connection its own session (pool_mode = session)");
    if (PQgetvalue(res, 0, 4)[0] != 't')
        findings_addf(&d->findings, SEVERITY_NOTE, "rights",
                      "as a superuser: grant pg_read_all_stats to that role",
                      "role %s cannot see the age of other roles' transactions, nor the state of standbys",
                      PQgetvalue(res, 0, 5));
    if (strstr(d->tables, ",migration,") == NULL)
        findings_add(
            &d->findings, SEVERITY_ERROR, "schema",
            "this database has no tables of pgdisque (schema pgdisque)",
            "make sure that the option database is right; a server creates the tables when it starts");
}

static void opened(struct doctor *d) {
    if (PQgetvalue(d->answer, 0, 2)[0] == 't') {
        next_host(d, "it is a standby");
        return;
    }
    look_at_opening(d, d->answer);
    doctor_ask(d, 0);
}

static void answered(struct doctor *d) {
    bool good = PQresultStatus(d->answer) == PGRES_TUPLES_OK;

    if (d->step == STEP_POOLER && good && PQstatus(d->conn) != CONNECTION_BAD) {
        look_for_pooler(d);
        return;
    }
    if (PQstatus(d->conn) == CONNECTION_BAD || (!good && d->step < 0)) {
        doctor_lost(d);
        return;
    }
    if (d->step == STEP_OPEN) {
        opened(d);
        return;
    }
    if (d->step >= 0 && good)
        take_findings(&d->findings, checks[d->step].name, d->answer);
    else if (d->step >= 0)
        doctor_not_seen(&d->findings, checks[d->step].name, d->answer);
    doctor_ask(d, d->step + 1);
}

/* ---- events ---- */

static void doctor_connecting_step(struct doctor *d) {
    switch (PQconnectPoll(d->conn)) {
    case PGRES_POLLING_READING:
        doctor_watch(d, EV_READ);
        break;
    case PGRES_POLLING_WRITING:
        doctor_watch(d, EV_WRITE);
        break;
    case PGRES_POLLING_OK:
        PQsetNoticeReceiver(d->conn, on_doctor_notice, d);
        look_for_pooler(d);
        break;
    default:
        next_host(d, PQerrorMessage(d->conn));
    }
}

/* Drops a result that arrives while the test for a pooler waits for the end of the session. */
static void take_answer(struct doctor *d, PGresult *res) {
    PGresult *old = pooler_waits(&d->pooler) ? res : d->answer;

    if (old != res)
        d->answer = res;
    PQclear(old);
}

static void doctor_asking_step(struct doctor *d) {
    PGresult *res;

    if (PQconsumeInput(d->conn) != 1) {
        doctor_lost(d);
        return;
    }
    while (!PQisBusy(d->conn)) {
        res = PQgetResult(d->conn);
        if (res == NULL && pooler_waits(&d->pooler))
            break;
        if (res == NULL) {
            answered(d);
            return;
        }
        take_answer(d, res);
    }
    if (pooler_waits(&d->pooler))
        event_add(d->io, NULL);
    else
        doctor_watch(d, EV_READ);
}

static void on_doctor_io(evutil_socket_t fd, short what, void *arg) {
    struct doctor *d = arg;

    (void)fd;
    (void)what;
    if (d->step == STEP_CONNECTING)
        doctor_connecting_step(d);
    else
        doctor_asking_step(d);
}

static void on_doctor_timer(evutil_socket_t fd, short what, void *arg) {
    struct doctor *d = arg;

    (void)fd;
    (void)what;
    if (pooler_waits(&d->pooler)) {
        look_for_pooler(d);
        return;
    }
    next_host(d, PQstatus(d->conn) == CONNECTION_BAD ? PQerrorMessage(d->conn) : "no answer in time");
}

/* ---- start and stop ---- */

void doctor_start(struct doctor *d, size_t host, void (*on_end)(void *arg), void *arg) {
    d->on_end = on_end;
    d->arg = arg;
    d->findings.checks = 1;
    d->timer = evtimer_new(loop, on_doctor_timer, d);
    connect_to(d, host);
}

void doctor_stop(struct doctor *d) {
    drop_connection(d);
    if (d->timer != NULL)
        event_free(d->timer);
    free(d->tables);
    findings_free(&d->findings);
    *d = (struct doctor){ 0 };
}
