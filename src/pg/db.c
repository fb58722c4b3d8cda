/* Connections to Postgres: non-blocking libpq in pipeline mode, and transactions that end in order. */
#include "pg/db_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "config/memory_budget.h"
#include "pg/hosts.h"
#include "pg/session.h"

#define BACKOFF_FIRST_US (20 * US_PER_MS)
#define BACKOFF_LAST_US (2 * US_PER_S)
#define PATIENCE_US (500 * US_PER_MS)
/* After this time without received bytes, an idle connection sends a heartbeat, and a busy one is probed. */
#define QUIET_US (3 * US_PER_S)
/* Time between two probes of a session that waits for the client, and probes before the connection is closed. */
#define DOUBT_US US_PER_S
#define DOUBTS 2
/* The size for the socket's send buffer; the system may allow less. */
#define SEND_BYTES (4 * 1024 * 1024)

struct db db;

static void lane_step(struct db_lane *lane, short what);
static void stir(struct db_lane *lane);
static void go_on(struct db_lane *lane);

static const char *const state_names[] = {
#define X(id, name) name,
    DB_STATES(X)
#undef X
};

const char *db_state_name(enum db_state state) {
    return state_names[state];
}

const char *db_last_error(void) {
    if (db.cause[0] == '\0')
        return db.last_error;
    snprintf(db.told, sizeof db.told, "%s (%s)", db.cause, db.last_error);
    return db.told;
}

void db_note_cause(const char *text) {
    snprintf(db.cause, sizeof db.cause, "%s", text);
    db.disk_is_full = strstr(text, strerror(ENOSPC)) != NULL;
}

bool db_disk_is_full(void) {
    return db.disk_is_full;
}

int db_server_version(void) {
    return db.server_version;
}

const char *lane_who(const struct db_lane *lane) {
    static const char *const names[] = {
        [LANE_HOT] = "database writes",
        [LANE_SIDE] = "database reads",
        [LANE_LARGE] = "database large writes",
    };

    return names[lane->kind];
}

/* Makes one line of the text, because libpq's messages end with a newline and may have several lines. */
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
    if (lane->state >= DB_READY)
        stir(lane);
    lane_step(lane, what);
}

void lane_watch(struct db_lane *lane, bool write) {
    short what = (short)(EV_PERSIST | EV_READ | (write ? EV_WRITE : 0));

    if (lane->io_event != NULL)
        event_free(lane->io_event);
    lane->io_event = event_new(db.base, PQsocket(lane->conn), what, on_io, lane);
    lane->want_write = write;
    event_add(lane->io_event, NULL);
}

void lane_arm_timer(struct db_lane *lane, int64_t us) {
    struct timeval tv = { us / US_PER_S, us % US_PER_S };

    event_add(lane->retry_event, &tv);
}

/* ---- loss of a connection ---- */

static void flight_clear(struct db_flight *f) {
    for (size_t i = 0; i < f->collected; i++)
        PQclear(f->results[i]);
    memory_change(NULL, MEMORY_DATABASE, f->result_bytes, 0);
    f->result_bytes = 0;
    f->collected = 0;
    f->sent = 0;
    f->sets_durability = f->failed = false;
}

static void count_unflushed(struct db_lane *lane, size_t bytes) {
    memory_change(NULL, MEMORY_DATABASE, lane->unflushed, bytes);
    lane->unflushed = bytes;
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
    count_unflushed(lane, 0);
}

static struct db_flight *oldest(struct db_lane *lane) {
    return &lane->flights[lane->oldest];
}

/* The transaction that the next statement belongs to. */
static struct db_flight *in_making(struct db_lane *lane) {
    return &lane->flights[(lane->oldest + lane->flying) % DB_MAX_FLIGHTS];
}

/* Reports the end of the oldest transaction. */
static void land(struct db_lane *lane, const struct db_result *result) {
    struct db_flight *f = oldest(lane);

    lane->oldest = (lane->oldest + 1) % DB_MAX_FLIGHTS;
    lane->flying--;
    f->on_landed(lane, result);
    flight_clear(f);
}

static void want_fence(struct db_lane *lane, enum durability durability) {
    if (lane->fence == FENCE_NONE)
        lane->fence_durability = durability;
    if (durability < lane->fence_durability)
        lane->fence_durability = durability;
    if (lane->fence_durability <= DURABILITY_REMOTE_WRITE)
        lane->fence = FENCE_WANTED;
}

/* Reports all transactions as lost. A fence that was sent is lost as well. broken: this server did not close the
 * connection. The database was then executing the first transaction without a complete result. */
static void all_lost(struct db_lane *lane, bool broken) {
    size_t ended = lane->arrived;

    lane->arrived = 0;
    lane->wait_cancelled = false;
    if (lane->fence == FENCE_SENT)
        lane->fence = FENCE_WANTED;
    for (size_t i = 0; lane->flying > 0; i++) {
        struct db_flight *f = oldest(lane);
        struct db_result lost = { .outcome = DB_LOST,
                                  .count = f->sent,
                                  .error = { f->failed ? f->sqlstate : "", f->message },
                                  .at_work = broken && i == ended };

        want_fence(lane, f->durability);
        stats.flights_lost++;
        land(lane, &lost);
    }
    flight_clear(in_making(lane));
    lane->broken = false;
}

/* Notes the last error of the session, if the session ended before the end of the transaction. */
static void note_last_words(const struct db_lane *lane) {
    const struct db_flight *f = &lane->flights[(lane->oldest + lane->arrived) % DB_MAX_FLIGHTS];

    if (lane->arrived == lane->flying || !f->failed)
        return;
    db_note_cause(f->message);
    db.disk_is_full |= strcmp(f->sqlstate, "53100") == 0;
}

static void note_trouble(void) {
    const char *text = db.hooks->trouble == NULL ? NULL : db.hooks->trouble();

    if (text != NULL)
        db_note_cause(text);
}

/* Closes the other connection for writes. Before LANE_HOT reports the changes of a lost transaction, a fence must
 * commit. */
static void take_partner_down(const struct db_lane *lane, const struct db_flight *lost) {
    struct db_lane *partner = place_partner(lane);

    if (partner == NULL || partner->state == DB_DOWN)
        return;
    if (lost != NULL)
        want_fence(partner, lost->durability);
    lane_down(partner, "it goes down with the other connection for writes");
}

static void end_connection(struct db_lane *lane, const char *why, bool broken) {
    bool was_up = lane->state >= DB_READY;
    bool all_tried = was_up || place_next(lane);
    const struct db_flight *lost = lane->flying > 0 ? oldest(lane) : NULL;
    int64_t delay = all_tried ? lane->backoff_us : BACKOFF_FIRST_US;

    if (was_up && broken)
        note_last_words(lane);
    note_trouble();
    remember_error(why);
    /* While Postgres starts, some tries fail. The log does not warn of the first ones. */
    log_line(was_up || lane->backoff_us > PATIENCE_US ? LOG_WARNING_ : LOG_VERBOSE_, lane_who(lane),
             "%s while %s: %s; next try in %d ms", was_up ? "connection lost" : "cannot connect",
             db_state_name(lane->state), db.last_error, (int)(delay / US_PER_MS));
    disconnect(lane);
    lane->state = DB_DOWN;
    lane_arm_timer(lane, delay);
    if (all_tried)
        lane->backoff_us = lane->backoff_us * 2 > BACKOFF_LAST_US ? BACKOFF_LAST_US : lane->backoff_us * 2;
    all_lost(lane, broken);
    if (!was_up)
        return;
    stats.db_disconnects++;
    db.hooks->on_down(lane);
    take_partner_down(lane, lost);
}

void lane_down(struct db_lane *lane, const char *why) {
    end_connection(lane, why, false);
}

void lane_broken(struct db_lane *lane) {
    char why[512];

    if (lane->state == DB_CHECKING && pooler_lost(&lane->pooler)) {
        disconnect(lane);
        lane_connect(lane);
        return;
    }
    snprintf(why, sizeof why, "%s", PQerrorMessage(lane->conn));
    end_connection(lane, why, true);
}

bool lane_send_all(struct db_lane *lane) {
    int left = PQflush(lane->conn);

    if (left < 0)
        return false;
    if (left == 0)
        count_unflushed(lane, 0);
    if ((left > 0) != lane->want_write)
        lane_watch(lane, left > 0);
    return true;
}

/* ---- unresponsive connections ---- */

static bool awaits_answer(const struct db_lane *lane) {
    return lane->beating || lane->flying > lane->arrived || lane->fence == FENCE_SENT;
}

bool lane_hangs(const struct db_lane *lane) {
    return lane->state >= DB_READY && awaits_answer(lane) && clock_mono() - lane->stirred_us >= QUIET_US;
}

/* Bytes have arrived, or the connection begins to wait for a result. */
static void stir(struct db_lane *lane) {
    lane->stirred_us = clock_mono();
    lane->doubts = 0;
    if (probe_is_running(&lane->probe)) {
        probe_stop(&lane->probe);
        lane_arm_timer(lane, QUIET_US);
    }
}

/* Does the session wait for the client, or is it gone? A working session waits for a lock, the disk or a standby. */
static bool session_waits(const PGresult *res) {
    return PQgetisnull(res, 0, 0) || PQgetvalue(res, 0, 0)[0] == 't';
}

static void on_looked(void *arg, enum probe_outcome outcome, const PGresult *res) {
    struct db_lane *lane = arg;
    bool waits = outcome == PROBE_ANSWER && session_waits(res);

    if (outcome == PROBE_SILENCE) {
        lane_down(lane, "no answer on this connection and on a second one");
        return;
    }
    if (outcome == PROBE_ANSWER && !waits)
        lane->doubts = 0;
    if (waits && ++lane->doubts == DOUBTS) {
        lane_down(lane,
                  "no answer, although the session waits for the client: the connection is unresponsive");
        return;
    }
    lane_arm_timer(lane, outcome == PROBE_ANSWER && !waits ? QUIET_US : DOUBT_US);
}

/* Sends a Sync alone. The session answers it without a transaction. */
static void beat(struct db_lane *lane) {
    stir(lane);
    lane->beating = true;
    lane_arm_timer(lane, QUIET_US);
    if (PQpipelineSync(lane->conn) != 1 || !lane_send_all(lane))
        lane_broken(lane);
}

static void look_after(struct db_lane *lane) {
    int64_t left = lane->stirred_us + QUIET_US - clock_mono();

    if (left > 0)
        lane_arm_timer(lane, left);
    else if (!awaits_answer(lane))
        beat(lane);
    else
        probe_start(&lane->probe, db.base, session_connect(lane->host, "probe"), sql_probe,
                    session_name(lane->name).text, on_looked, lane);
}

/* LANE_LARGE may connect only after LANE_HOT is ready, because LANE_HOT terminates the older sessions of both. */
static bool lane_may_connect(const struct db_lane *lane) {
    return lane->kind != LANE_LARGE || place_partner(lane)->state >= DB_READY;
}

static void on_timer(evutil_socket_t fd, short what, void *arg) {
    struct db_lane *lane = arg;

    (void)fd;
    (void)what;
    if (lane->state == DB_DOWN && lane_may_connect(lane))
        lane_connect(lane);
    else if (lane->state == DB_DOWN)
        lane_arm_timer(lane, BACKOFF_FIRST_US);
    else if (lane->state < DB_READY)
        lane_connect_timer(lane);
    else
        look_after(lane);
}

/* libpq moves the rest of its buffer after each send. A large socket buffer reduces the number of sends. TCP adapts its
 * buffer by itself. */
static void widen_socket(const struct db_lane *lane) {
    struct sockaddr_storage name;
    socklen_t len = sizeof name;
    int bytes = SEND_BYTES;

    if (getsockname(PQsocket(lane->conn), (struct sockaddr *)&name, &len) == 0 && name.ss_family == AF_UNIX)
        (void)setsockopt(PQsocket(lane->conn), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

void lane_ready(struct db_lane *lane) {
    lane->state = DB_READY;
    db.was_ready = true;
    widen_socket(lane);
    lane->wanted = lane->durability;
    stir(lane);
    lane_arm_timer(lane, QUIET_US);
    lane->backoff_us = BACKOFF_FIRST_US;
    db.last_error[0] = db.cause[0] = '\0';
    db.disk_is_full = false;
    stats.db_connects++;
    log_notice(lane_who(lane), "connected to PostgreSQL %d.%d%s%s", db.server_version / 10000,
               db.server_version % 10000, hosts_count() > 1 ? " at " : "",
               hosts_count() > 1 ? hosts_name(lane->host) : "");
    db.hooks->on_ready(lane);
    go_on(lane);
}

/* ---- end of a transaction ---- */

bool result_is_error(const PGresult *res) {
    ExecStatusType status = PQresultStatus(res);

    return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE;
}

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

static void flight_done(struct db_lane *lane) {
    static struct log_kind failures;
    struct db_flight *f = oldest(lane);
    struct db_result result = {
        .outcome = f->failed ? DB_FAILED : DB_COMMITTED,
        .count = f->sent,
        .rows = f->results,
        .failed_at = f->failed_at,
        .error = { f->sqlstate, f->message },
    };

    if (f->failed) {
        stats.flights_failed++;
        log_sometimes(&failures, LOG_WARNING_, lane_who(lane),
                      "transaction failed at statement %zu of %zu: %s (SQLSTATE %s)", f->failed_at + 1,
                      f->sent, f->message, f->sqlstate);
    }
    lane->state = lane->flying > 1 ? DB_FLYING : DB_READY;
    lane->arrived--;
    land(lane, &result);
}

/* ---- the fence ---- */

static void send_fence(struct db_lane *lane) {
    const char *values[] = { durability_setting(lane->fence_durability) };

    stir(lane);
    lane->fence = FENCE_SENT;
    if (PQsendQueryPrepared(lane->conn, sql_texts[SQL_FENCE].name, 1, values, NULL, NULL, 1) != 1 ||
        PQpipelineSync(lane->conn) != 1 || !lane_send_all(lane))
        lane_broken(lane);
}

/* Sends a fence if one is wanted. Without a fence, reports the transactions whose results are complete. */
static void go_on(struct db_lane *lane) {
    if (lane->fence == FENCE_WANTED)
        send_fence(lane);
    while (lane->fence == FENCE_NONE && lane->arrived > 0)
        flight_done(lane);
}

/* A cancelled fence is not an error: fence_done() sends another one. */
static void fence_result(struct db_lane *lane, PGresult *res) {
    const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);
    bool cancelled = state != NULL && strncmp(state, "57", 2) == 0;
    bool error = res != NULL && result_is_error(res);

    lane->wait_cancelled = lane->wait_cancelled || cancelled;
    PQclear(res);
    if (PQstatus(lane->conn) == CONNECTION_BAD || (error && !cancelled))
        lane_broken(lane);
}

static void fence_done(struct db_lane *lane) {
    lane->fence = lane->wait_cancelled ? FENCE_WANTED : FENCE_NONE;
    lane->wait_cancelled = false;
    go_on(lane);
}

/* ---- results ---- */

/* The transaction whose results arrive next; NULL: the results of the fence arrive next. */
static struct db_flight *incoming(struct db_lane *lane) {
    if (lane->arrived == lane->flying)
        return NULL;
    return &lane->flights[(lane->oldest + lane->arrived) % DB_MAX_FLIGHTS];
}

static void flight_arrived(struct db_lane *lane, const struct db_flight *f) {
    if (lane->wait_cancelled) {
        stats.standby_waits_cancelled++;
        log_warning(lane_who(lane),
                    "a commit's wait for its standbys was cancelled: its replies are held back "
                    "until the standbys have the commit");
        if (lane->fence != FENCE_SENT)
            want_fence(lane, f->durability);
    }
    lane->wait_cancelled = false;
    lane->arrived++;
    go_on(lane);
}

/* Does the session not know the prepared statement (26000)? Then a pooler has assigned another session. */
static bool is_another_session(const PGresult *res) {
    const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);

    return state != NULL && strcmp(state, "26000") == 0;
}

static void collect(struct db_flight *f, PGresult *res) {
    size_t bytes = PQresultMemorySize(res);

    f->results[f->collected++] = res;
    memory_change(NULL, MEMORY_DATABASE, f->result_bytes, f->result_bytes + bytes);
    f->result_bytes += bytes;
}

/* The commit may fail, too: the error then arrives before the Sync's result. */
static void flight_result(struct db_lane *lane, struct db_flight *f, PGresult *res) {
    bool lost = is_another_session(res);

    if (res != NULL && result_is_error(res))
        note_error(f, res);
    if (res != NULL && !f->sets_durability && f->collected < f->sent)
        collect(f, res);
    else
        PQclear(res);
    if (res != NULL)
        f->sets_durability = false;
    if (lost)
        lane_down(lane, "the session does not have the prepared statements");
    else if (PQstatus(lane->conn) == CONNECTION_BAD)
        lane_broken(lane);
}

static void on_result(struct db_lane *lane, struct db_flight *f, PGresult *res) {
    bool ends = PQresultStatus(res) == PGRES_PIPELINE_SYNC;

    if (!ends && f != NULL)
        flight_result(lane, f, res);
    else if (!ends)
        fence_result(lane, res);
    else {
        PQclear(res);
        if (f != NULL)
            flight_arrived(lane, f);
        else
            fence_done(lane);
    }
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
        if (lane->beating)
            beating_step(lane, res);
        else
            on_result(lane, incoming(lane), res);
    }
}

/* libpq moves its unsent bytes with each try to send. Therefore an event makes one try only: PQconsumeInput() tries to
 * send, too. */
static bool read_or_send(struct db_lane *lane, short what) {
    if ((what & EV_READ) != 0)
        return PQconsumeInput(lane->conn) != 0;
    return lane_send_all(lane);
}

static void lane_step(struct db_lane *lane, short what) {
    if (lane->state == DB_DOWN)
        return;
    if (lane->state < DB_READY)
        lane_connect_step(lane);
    else if (!read_or_send(lane, what))
        lane_broken(lane);
    else
        flying_step(lane);
}

struct params *db_params(struct db_lane *lane) {
    return &lane->params;
}

/* Sends the transaction's durability before its first statement, if it differs from that of the session. */
static void set_durability(struct db_lane *lane, struct db_flight *f) {
    if (f->sent > 0)
        return;
    f->durability = lane->wanted;
    if (f->durability == lane->durability)
        return;
    f->sets_durability = true;
    if (!send_durability(lane->conn, lane->wanted, true))
        lane->broken = true;
}

void db_begin(struct db_lane *lane, enum durability durability) {
    lane->wanted = durability;
}

static size_t params_bytes(int columns, const int lengths[]) {
    size_t bytes = 0;

    for (int i = 0; i < columns; i++)
        bytes += (size_t)lengths[i];
    return bytes;
}

void db_statement(struct db_lane *lane, enum sql_stmt stmt) {
    struct db_flight *f = in_making(lane);
    const char *values[PARAMS_MAX];
    int lengths[PARAMS_MAX];
    int formats[PARAMS_MAX];

    params_finish(&lane->params, values, lengths, formats);
    count_unflushed(lane, lane->unflushed + params_bytes(lane->params.columns, lengths));
    set_durability(lane, f);
    f->sent++;
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
    lane->wanted = lane->durability;
    stats.flights++;
    if (lane->broken || PQpipelineSync(lane->conn) != 1 || !lane_send_all(lane))
        lane_broken(lane);
}

/* ---- start and end ---- */

void db_init(struct event_base *base, const char *conninfo, const struct db_hooks *hooks) {
    db.base = base;
    db.hooks = hooks;
    place_init(conninfo);
}

struct db_lane *db_lane_new(const char *name, enum lane_kind kind) {
    struct db_lane *lane = xcalloc(1, sizeof *lane);

    lane->name = name;
    lane->kind = kind;
    lane->backoff_us = BACKOFF_FIRST_US;
    lane->retry_event = event_new(db.base, -1, 0, on_timer, lane);
    place_add(lane);
    lane_connect(lane);
    return lane;
}

void db_lane_free(struct db_lane *lane) {
    place_remove(lane);
    disconnect(lane);
    for (size_t i = 0; i < DB_MAX_FLIGHTS; i++)
        flight_clear(&lane->flights[i]);
    event_free(lane->retry_event);
    params_free(&lane->params);
    free(lane);
}
