/* Connections to Postgres: non-blocking libpq in pipeline mode, and transactions that end in order. */
#include "pg/db_connect.h"
#include "pg/db_private.h"
#include "pg/primary_select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "config/memory_budget.h"
#include "pg/apart_flush.h"
#include "pg/conninfo_hosts.h"
#include "pg/host_addresses.h"
#include "pg/session.h"
#include "pg/txn_bounds.h"

#define BACKOFF_FIRST_US (20 * US_PER_MS)
#define BACKOFF_LAST_US (2 * US_PER_S)
#define DB_PATIENCE_US (500 * US_PER_MS)
/* After this time without received bytes, an idle connection sends a heartbeat, and a busy one is probed. */
#define QUIET_US (3 * US_PER_S)
/* Time between two probes of a session that waits for the client, and probes before the connection is closed. */
#define PROBE_PAUSE_US US_PER_S
#define PROBES_MOST 2
/* The size for the socket's send buffer; the system may allow less. */
#define SEND_BYTES (4 * 1024 * 1024)

struct db db;

static void conn_step(struct db_conn *conn, short what);
static void note_alive(struct db_conn *conn);

static const char *const state_names[] = {
#define X(id, name) name,
    DB_STATES(X)
#undef X
};

static const char *db_state_name(enum db_state state) {
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

const char *conn_who(const struct db_conn *conn) {
    static const char *const names[] = {
        [CONN_WRITE] = "database writes",       [CONN_READ] = "database reads",
        [CONN_LARGE] = "database large writes", [CONN_LONG] = "database long reads",
        [CONN_FLUSH] = "database flushes",
    };

    return names[conn->kind];
}

/* Makes one line of the text, because libpq's messages end with a newline and may have several lines. */
static void remember_error(const char *text) {
    snprintf(db.last_error, sizeof db.last_error, "%s", text);
    for (char *c = db.last_error; *c != '\0'; c++)
        if (*c == '\n')
            *c = c[1] == '\0' ? '\0' : ' ';
}

/* ---- events ---- */

static void on_db_io(evutil_socket_t fd, short what, void *arg) {
    struct db_conn *conn = arg;

    (void)fd;
    if (conn->state >= DB_READY)
        note_alive(conn);
    conn_step(conn, what);
}

void conn_watch(struct db_conn *conn, bool write) {
    short what = (short)(EV_PERSIST | EV_READ | (write ? EV_WRITE : 0));

    if (conn->io_event != NULL)
        event_free(conn->io_event);
    conn->io_event = event_new(db.base, PQsocket(conn->pg), what, on_db_io, conn);
    conn->want_write = write;
    event_add(conn->io_event, NULL);
}

void conn_arm_timer(struct db_conn *conn, int64_t us) {
    struct timeval tv = { us / US_PER_S, us % US_PER_S };

    event_add(conn->retry_event, &tv);
}

/* ---- loss of a connection ---- */

static void txn_clear(struct db_txn *txn) {
    for (size_t i = 0; i < txn->collected; i++)
        PQclear(txn->results[i]);
    memory_change(NULL, MEMORY_DATABASE, txn->result_bytes, 0);
    txn->result_bytes = 0;
    txn->collected = 0;
    txn->sent = 0;
    txn->bounds = (struct db_bounds){ 0 };
    txn->exceeded = DB_BOUND_NONE;
    txn->busy_since_us = 0;
    txn->preludes = 0;
    txn->on_snapshot = NULL;
    txn->flushed_apart = false;
    txn->failed = txn->timed = txn->after_prepares = txn->proved = txn->proof_due = false;
}

static void count_unflushed(struct db_conn *conn, size_t bytes) {
    memory_change(NULL, MEMORY_DATABASE, conn->unflushed, bytes);
    conn->unflushed = bytes;
}

static void db_disconnect(struct db_conn *conn) {
    if (conn->io_event != NULL) {
        event_free(conn->io_event);
        conn->io_event = NULL;
    }
    PQclear(conn->step_result);
    conn->step_result = NULL;
    free(conn->migrate);
    conn->migrate = NULL;
    probe_stop(&conn->probe);
    probe_stop(&conn->canceller);
    conn->heartbeat_sent = false;
    conn->failed_probes = 0;
    conn->open = false;
    PQfinish(conn->pg);
    conn->pg = NULL;
    count_unflushed(conn, 0);
}

static struct db_txn *oldest(struct db_conn *conn) {
    return &conn->txns[conn->oldest];
}

struct db_txn *conn_filled_txn(struct db_conn *conn) {
    return &conn->txns[(conn->oldest + conn->sent_txns - conn->open) % DB_MAX_TXNS];
}

/* Reports the end of the oldest transaction. */
static void report_txn_end(struct db_conn *conn, const struct db_result *result) {
    struct db_txn *txn = oldest(conn);

    conn->oldest = (conn->oldest + 1) % DB_MAX_TXNS;
    conn->sent_txns--;
    txn->on_completed(conn, result);
    txn_clear(txn);
}

/* A commit without standbys is on the disk when its session ends, unless another session flushes it. */
static void want_fence(struct db_conn *conn, const struct db_txn *txn) {
    if (txn->durability > (txn->flushed_apart ? DURABILITY_LOCAL : DURABILITY_REMOTE_WRITE))
        return;
    if (conn->fence == FENCE_NONE || txn->durability < conn->fence_durability)
        conn->fence_durability = txn->durability;
    conn->fence = FENCE_WANTED;
}

/* The error of a transaction that has failed or was lost; sqlstate "": none is known. */
static struct op_error txn_error(const struct db_txn *txn) {
    if (txn->exceeded != DB_BOUND_NONE)
        return *txn_bounds_error(txn);
    return (struct op_error){ txn->failed ? txn->sqlstate : "", txn->message };
}

/* Reports all transactions as lost. A fence that was sent is lost as well. broken: this server did not close the
 * connection. The database was then executing the first transaction without a complete result. */
static void all_lost(struct db_conn *conn, bool broken) {
    size_t ended = conn->arrived;

    conn->arrived = 0;
    conn->flushing = conn->flushed = conn->arrivals;
    conn->wait_cancelled = false;
    if (conn->fence == FENCE_SENT)
        conn->fence = FENCE_WANTED;
    for (size_t i = 0; conn->sent_txns > 0; i++) {
        struct db_txn *txn = oldest(conn);
        struct db_result lost = {
            .outcome = DB_LOST,
            .count = txn->sent,
            .error = txn_error(txn),
            .exceeded = txn_bounds_error(txn),
            .at_work = broken && i == ended,
        };

        want_fence(conn, txn);
        stats.transactions_lost++;
        report_txn_end(conn, &lost);
    }
    txn_clear(conn_filled_txn(conn));
    conn->broken = false;
}

/* Notes the last error of the session, if the session ended before the end of the transaction. */
static void note_last_words(const struct db_conn *conn) {
    const struct db_txn *txn = &conn->txns[(conn->oldest + conn->arrived) % DB_MAX_TXNS];

    if (conn->arrived == conn->sent_txns || !txn->failed)
        return;
    db_note_cause(txn->message);
    db.disk_is_full |= strcmp(txn->sqlstate, DB_DISK_FULL) == 0;
}

static void note_trouble(void) {
    const char *text = db.hooks->trouble == NULL ? NULL : db.hooks->trouble();

    if (text != NULL)
        db_note_cause(text);
}

/* The other connection for writes, or NULL. */
static struct db_conn *write_partner(const struct db_conn *conn) {
    if (conn->kind == CONN_WRITE)
        return db.conns[CONN_LARGE];
    return conn->kind == CONN_LARGE ? db.conns[CONN_WRITE] : NULL;
}

/* Closes the other connection for writes. Before CONN_WRITE reports the changes of a lost transaction, a fence must
 * commit. */
static void take_partner_down(const struct db_conn *conn, const struct db_txn *lost) {
    struct db_conn *partner = write_partner(conn);

    if (partner == NULL || partner->state == DB_DOWN)
        return;
    if (lost != NULL)
        want_fence(partner, lost);
    conn_down(partner, "it goes down with the other connection for writes");
}

static void end_connection(struct db_conn *conn, const char *why, bool broken) {
    bool was_up = conn->state >= DB_READY;
    bool all_tried = was_up || primary_next(conn);
    const struct db_txn *lost = conn->sent_txns > 0 ? oldest(conn) : NULL;
    int64_t delay = all_tried ? conn->backoff_us : BACKOFF_FIRST_US;

    if (was_up && broken)
        note_last_words(conn);
    note_trouble();
    remember_error(why);
    /* While Postgres starts, some tries fail. The log does not warn of the first ones. */
    log_line(was_up || conn->backoff_us > DB_PATIENCE_US ? LOG_WARNING_ : LOG_VERBOSE_, conn_who(conn),
             "%s while %s: %s; next try in %d ms", was_up ? "connection lost" : "cannot connect",
             db_state_name(conn->state), db.last_error, (int)(delay / US_PER_MS));
    db_disconnect(conn);
    conn->state = DB_DOWN;
    conn_arm_timer(conn, delay);
    if (all_tried)
        conn->backoff_us = conn->backoff_us * 2 > BACKOFF_LAST_US ? BACKOFF_LAST_US : conn->backoff_us * 2;
    all_lost(conn, broken);
    if (!was_up)
        return;
    stats.db_disconnects++;
    take_partner_down(conn, lost);
    if (conn->kind == CONN_FLUSH)
        flush_apart_lost("the session that flushes its transactions has ended");
}

void conn_down(struct db_conn *conn, const char *why) {
    end_connection(conn, why, false);
}

void conn_broken(struct db_conn *conn) {
    char why[512];

    if (conn->state == DB_CHECKING && pooler_lost(&conn->pooler)) {
        db_disconnect(conn);
        conn_connect(conn);
        return;
    }
    snprintf(why, sizeof why, "%s", PQerrorMessage(conn->pg));
    end_connection(conn, why, true);
}

bool conn_send_all(struct db_conn *conn) {
    int left = PQflush(conn->pg);

    if (left < 0)
        return false;
    if (left == 0)
        count_unflushed(conn, 0);
    if ((left > 0) != conn->want_write)
        conn_watch(conn, left > 0);
    return true;
}

/* ---- unresponsive connections ---- */

/* Results of an open transaction stay in libpq's buffer, because libpq then has no command that they belong to. */
static bool awaits_results(const struct db_conn *conn) {
    return conn->heartbeat_sent || conn->sent_txns - conn->open > conn->arrived || conn->fence == FENCE_SENT;
}

static bool awaits_answer(const struct db_conn *conn) {
    return conn->open || awaits_results(conn);
}

bool conn_hangs(const struct db_conn *conn) {
    return conn->state >= DB_READY && awaits_answer(conn) && clock_mono() - conn->alive_us >= QUIET_US;
}

/* Bytes have arrived, or the connection begins to wait for a result. */
static void note_alive(struct db_conn *conn) {
    conn->alive_us = clock_mono();
    conn->failed_probes = 0;
    if (probe_is_running(&conn->probe)) {
        probe_stop(&conn->probe);
        conn_arm_timer(conn, QUIET_US);
    }
}

/* Does the session wait for the client, or is it gone? A working session waits for a lock, the disk or a standby. */
static bool session_waits(const PGresult *res) {
    return PQgetisnull(res, 0, 0) || PQgetvalue(res, 0, 0)[0] == 't';
}

static void on_db_probed(void *arg, enum probe_outcome outcome, const PGresult *res) {
    struct db_conn *conn = arg;
    bool waits = outcome == PROBE_ANSWER && session_waits(res);

    if (outcome == PROBE_SILENCE) {
        conn_down(conn, "no answer on this connection and on a second one");
        return;
    }
    if (outcome == PROBE_ANSWER && !waits)
        conn->failed_probes = 0;
    if (waits && ++conn->failed_probes == PROBES_MOST) {
        conn_down(conn,
                  "no answer, although the session waits for the client: the connection is unresponsive");
        return;
    }
    conn_arm_timer(conn, outcome == PROBE_ANSWER && !waits ? QUIET_US : PROBE_PAUSE_US);
}

/* Sends a Sync alone. The session answers it without a transaction. */
static void send_heartbeat(struct db_conn *conn) {
    note_alive(conn);
    conn->heartbeat_sent = true;
    conn_arm_timer(conn, QUIET_US);
    if (PQpipelineSync(conn->pg) != 1 || !conn_send_all(conn))
        conn_broken(conn);
}

static void look_after(struct db_conn *conn) {
    int64_t left = conn->alive_us + QUIET_US - clock_mono();

    if (left > 0)
        conn_arm_timer(conn, left);
    else if (!awaits_answer(conn))
        send_heartbeat(conn);
    else
        probe_start(&conn->probe, db.base, session_connect(conn->host, "probe"), sql_probe,
                    session_name(conn->name).text, on_db_probed, conn);
}

/* CONN_LARGE may connect only after CONN_WRITE is ready, because CONN_WRITE terminates the older sessions of both.
 * CONN_FLUSH has no use before. */
static bool conn_may_connect(const struct db_conn *conn) {
    return ((conn->kind != CONN_LARGE && conn->kind != CONN_FLUSH) ||
            db.conns[CONN_WRITE]->state >= DB_READY) &&
           addresses_ready();
}

static void connect_or_wait(struct db_conn *conn) {
    if (conn_may_connect(conn))
        conn_connect(conn);
    else
        conn_arm_timer(conn, BACKOFF_FIRST_US);
}

static void on_db_timer(evutil_socket_t fd, short what, void *arg) {
    struct db_conn *conn = arg;

    (void)fd;
    (void)what;
    if (conn->state == DB_DOWN)
        connect_or_wait(conn);
    else if (conn->state < DB_READY)
        conn_connect_timer(conn);
    else
        look_after(conn);
}

/* libpq moves the rest of its buffer after each send. A large socket buffer reduces the number of sends. TCP adapts its
 * buffer by itself. */
static void widen_socket(const struct db_conn *conn) {
    struct sockaddr_storage name;
    socklen_t len = sizeof name;
    int bytes = SEND_BYTES;

    if (getsockname(PQsocket(conn->pg), (struct sockaddr *)&name, &len) == 0 && name.ss_family == AF_UNIX)
        (void)setsockopt(PQsocket(conn->pg), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

/* Commands fail until CONN_WRITE is ready, so its error is kept until then. */
static void forget_error(void) {
    if (db.conns[CONN_WRITE]->state < DB_READY)
        return;
    db.last_error[0] = db.cause[0] = '\0';
    db.disk_is_full = false;
}

void conn_ready(struct db_conn *conn) {
    conn->state = DB_READY;
    db.was_ready = true;
    widen_socket(conn);
    conn->wanted = conn->durability;
    note_alive(conn);
    conn_arm_timer(conn, QUIET_US);
    conn->backoff_us = BACKOFF_FIRST_US;
    forget_error();
    stats.db_connects++;
    log_notice(conn_who(conn), "connected to PostgreSQL %d.%d%s%s", db.server_version / 10000,
               db.server_version % 10000, hosts_count() > 1 ? " at " : "",
               hosts_count() > 1 ? hosts_name(conn->host) : "");
    db.hooks->on_ready(conn);
    conn_go_on(conn);
}

/* ---- end of a transaction ---- */

bool result_is_error(const PGresult *res) {
    ExecStatusType status = PQresultStatus(res);

    return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE;
}

static void db_note_error(struct db_txn *txn, const PGresult *res) {
    const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);

    if (txn->failed)
        return;
    txn->failed = true;
    txn->failed_at = txn->collected;
    snprintf(txn->sqlstate, sizeof txn->sqlstate, "%s", state != NULL ? state : "XX000");
    snprintf(txn->message, sizeof txn->message, "%s", text != NULL ? text : PQresultErrorMessage(res));
}

static void txn_done(struct db_conn *conn) {
    static struct log_kind failures;
    struct db_txn *txn = oldest(conn);
    struct db_result result = {
        .outcome = txn->failed ? DB_FAILED : DB_COMMITTED,
        .count = txn->sent,
        .rows = txn->results,
        .failed_at = txn->failed_at,
        .took_us = txn->timed ? txn->took_us : NULL,
        .error = txn_error(txn),
        .exceeded = txn_bounds_error(txn),
    };

    if (txn->failed) {
        stats.transactions_failed++;
        log_sometimes(&failures, LOG_WARNING_, conn_who(conn),
                      "transaction failed at statement %zu of %zu: %s (SQLSTATE %s)", txn->failed_at + 1,
                      txn->sent, txn->message, txn->sqlstate);
    }
    conn->state = conn->sent_txns > 1 ? DB_BUSY : DB_READY;
    conn->arrived--;
    report_txn_end(conn, &result);
}

/* ---- the fence ---- */

static void send_fence(struct db_conn *conn) {
    const char *values[] = { durability_setting(conn->fence_durability) };

    note_alive(conn);
    conn->fence = FENCE_SENT;
    if (PQsendQueryPrepared(conn->pg, sql_texts[SQL_FENCE].name, 1, values, NULL, NULL, 1) != 1 ||
        PQpipelineSync(conn->pg) != 1 || !conn_send_all(conn))
        conn_broken(conn);
}

void conn_go_on(struct db_conn *conn) {
    if (conn->state < DB_READY)
        return;
    if (conn->fence == FENCE_WANTED)
        send_fence(conn);
    while (conn->fence == FENCE_NONE && conn->arrived > 0 && flush_apart_is_done(conn, oldest(conn)))
        txn_done(conn);
}

/* A cancelled fence is not an error: fence_done() sends another one. */
static void fence_result(struct db_conn *conn, PGresult *res) {
    const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);
    bool cancelled = state != NULL && strncmp(state, "57", 2) == 0;
    bool error = res != NULL && result_is_error(res);

    conn->wait_cancelled = conn->wait_cancelled || cancelled;
    PQclear(res);
    if (PQstatus(conn->pg) == CONNECTION_BAD || (error && !cancelled))
        conn_broken(conn);
}

static void fence_done(struct db_conn *conn) {
    if (conn->wait_cancelled)
        stats.standby_waits_cancelled++;
    conn->fence = conn->wait_cancelled ? FENCE_WANTED : FENCE_NONE;
    conn->wait_cancelled = false;
    conn_go_on(conn);
}

/* ---- results ---- */

/* NULL: the results of the fence arrive next. */
struct db_txn *conn_incoming_txn(struct db_conn *conn) {
    if (conn->arrived == conn->sent_txns)
        return NULL;
    return &conn->txns[(conn->oldest + conn->arrived) % DB_MAX_TXNS];
}

static void txn_arrived(struct db_conn *conn, const struct db_txn *txn) {
    if (conn->wait_cancelled) {
        stats.standby_waits_cancelled++;
        log_warning(conn_who(conn),
                    "a commit's wait for its standbys was cancelled: its replies are held back "
                    "until the standbys have the commit");
        if (conn->fence != FENCE_SENT)
            want_fence(conn, txn);
    }
    conn->wait_cancelled = false;
    conn->arrived++;
    conn->arrivals++;
    if (conn->arrived < conn->sent_txns)
        conn_incoming_txn(conn)->since_us = clock_mono_now();
    conn_go_on(conn);
    flush_apart_begin(conn);
}

/* Does the session not know the prepared statement (26000)? Then a pooler has assigned another session. */
static bool is_another_session(const PGresult *res) {
    const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);

    return state != NULL && strcmp(state, "26000") == 0;
}

static void note_time(struct db_txn *txn) {
    int64_t now = clock_mono_now();

    txn->took_us[txn->collected] = now - txn->since_us;
    txn->since_us = now;
}

static void collect(struct db_txn *txn, PGresult *res) {
    size_t bytes = PQresultMemorySize(res);

    if (txn->timed)
        note_time(txn);
    txn->results[txn->collected++] = res;
    memory_change(NULL, MEMORY_DATABASE, txn->result_bytes, txn->result_bytes + bytes);
    txn->result_bytes += bytes;
}

/* The snapshot is the last prelude. */
static void take_prelude(struct db_txn *txn, PGresult *res) {
    if (--txn->preludes == 0 && txn->on_snapshot != NULL && PQresultStatus(res) == PGRES_TUPLES_OK)
        txn->on_snapshot();
    PQclear(res);
}

static void take_proof(struct db_txn *txn, PGresult *res) {
    txn->proof_due = false;
    PQclear(res);
}

/* The commit may fail, too: the error then arrives before the Sync's result. */
static void txn_result(struct db_conn *conn, struct db_txn *txn, PGresult *res) {
    bool lost = is_another_session(res);

    if (res != NULL && result_is_error(res))
        db_note_error(txn, res);
    if (res != NULL && txn->preludes > 0)
        take_prelude(txn, res);
    else if (res != NULL && txn->proof_due && txn->collected == txn->proof_at)
        take_proof(txn, res);
    else if (res != NULL && txn->collected < txn->sent)
        collect(txn, res);
    else
        PQclear(res);
    if (lost)
        conn_down(conn, "the session does not have the prepared statements");
    else if (PQstatus(conn->pg) == CONNECTION_BAD)
        conn_broken(conn);
    else
        txn_bounds_check_results(conn, txn);
}

static void on_result(struct db_conn *conn, struct db_txn *txn, PGresult *res) {
    bool ends = PQresultStatus(res) == PGRES_PIPELINE_SYNC;

    if (!ends && txn != NULL)
        txn_result(conn, txn, res);
    else if (!ends)
        fence_result(conn, res);
    else {
        PQclear(res);
        if (txn != NULL)
            txn_arrived(conn, txn);
        else
            fence_done(conn);
    }
}

static void read_heartbeat(struct db_conn *conn, PGresult *res) {
    conn->heartbeat_sent = PQresultStatus(res) != PGRES_PIPELINE_SYNC;
    PQclear(res);
    if (PQstatus(conn->pg) == CONNECTION_BAD)
        conn_broken(conn);
}

static void read_prepares(struct db_conn *conn, struct db_txn *txn, PGresult *res) {
    if (prepared_take_result(&conn->prepared, res)) {
        txn->after_prepares = false;
        txn->since_us = clock_mono_now();
    }
    PQclear(res);
    if (PQstatus(conn->pg) == CONNECTION_BAD)
        conn_broken(conn);
}

static void read_results(struct db_conn *conn) {
    while (conn->state >= DB_READY && awaits_results(conn) && !PQisBusy(conn->pg)) {
        PGresult *res = PQgetResult(conn->pg);
        struct db_txn *txn = conn_incoming_txn(conn);

        if (res == NULL && PQstatus(conn->pg) == CONNECTION_OK)
            continue;
        if (conn->heartbeat_sent)
            read_heartbeat(conn, res);
        else if (txn != NULL && txn->after_prepares)
            read_prepares(conn, txn, res);
        else
            on_result(conn, txn, res);
    }
}

/* libpq moves its unsent bytes with each try to send. Therefore an event makes one try only: PQconsumeInput() tries to
 * send, too. */
static bool read_or_send(struct db_conn *conn, short what) {
    if ((what & EV_READ) != 0)
        return PQconsumeInput(conn->pg) != 0;
    return conn_send_all(conn);
}

static void conn_step(struct db_conn *conn, short what) {
    if (conn->state == DB_DOWN)
        return;
    if (conn->state < DB_READY)
        conn_connect_step(conn);
    else if (!read_or_send(conn, what))
        conn_broken(conn);
    else
        read_results(conn);
}

struct params *db_params(struct db_conn *conn) {
    return &conn->params;
}

/* Sends the transaction's durability, if it differs from that of the session. */
static void set_durability(struct db_conn *conn, struct db_txn *txn) {
    txn->durability = conn->wanted;
    if (txn->durability == conn->durability)
        return;
    txn->preludes++;
    if (!send_durability(conn->pg, conn->wanted, true))
        conn->broken = true;
}

static void send_snapshot(struct db_conn *conn, struct db_txn *txn) {
    txn->preludes++;
    if (PQsendQueryPrepared(conn->pg, sql_texts[SQL_TAKE_SNAPSHOT].name, 0, NULL, NULL, NULL, 1) != 1 ||
        PQsendFlushRequest(conn->pg) != 1)
        conn->broken = true;
}

/* Sends the statements before the first one. */
static void send_preludes(struct db_conn *conn, struct db_txn *txn) {
    if (txn->sent > 0)
        return;
    txn->after_prepares = prepared_send_used(&conn->prepared, conn->pg, &conn->broken);
    set_durability(conn, txn);
    if (txn->on_snapshot != NULL)
        send_snapshot(conn, txn);
}

void db_set_durability(struct db_conn *conn, enum durability durability) {
    conn->wanted = conn_durability(conn, durability);
}

void db_bound(struct db_conn *conn, struct db_bounds bounds) {
    conn_filled_txn(conn)->bounds = bounds;
}

void db_time(struct db_conn *conn) {
    conn_filled_txn(conn)->timed = true;
}

void db_snapshot(struct db_conn *conn, void (*on_taken)(void)) {
    conn_filled_txn(conn)->on_snapshot = on_taken;
}

static size_t params_bytes(int columns, const int lengths[]) {
    size_t bytes = 0;

    for (int i = 0; i < columns; i++)
        bytes += (size_t)lengths[i];
    return bytes;
}

/* Prefers the variant for one row. Returns the statement that fits the parameters. */
static enum sql_stmt choose_variant(struct params *p, enum sql_stmt stmt) {
    if (sql_texts[stmt].single == SQL_COUNT || !params_are_single(p))
        return stmt;
    params_make_single(p);
    return sql_texts[stmt].single;
}

/* A pooler may have assigned another session. Only a statement with a name fails there, so such a statement is before the
 * first one without a name. Its result is dropped. */
static void send_session_proof(struct db_conn *conn, struct db_txn *txn) {
    if (txn->proved)
        return;
    txn->proved = txn->proof_due = true;
    txn->proof_at = txn->sent;
    if (!prepared_execute(&conn->prepared, conn->pg, SQL_TAKE_SNAPSHOT, 0, NULL, NULL, NULL))
        conn->broken = true;
}

void db_statement(struct db_conn *conn, enum sql_stmt stmt) {
    struct db_txn *txn = conn_filled_txn(conn);
    const char *values[PARAMS_MAX];
    int lengths[PARAMS_MAX];
    int formats[PARAMS_MAX];

    stmt = choose_variant(&conn->params, stmt);
    params_finish(&conn->params, values, lengths, formats);
    count_unflushed(conn, conn->unflushed + params_bytes(conn->params.columns, lengths));
    send_preludes(conn, txn);
    if (!statement_is_prepared(&conn->prepared, stmt))
        send_session_proof(conn, txn);
    txn->sent++;
    stats.statements++;
    if (!prepared_execute(&conn->prepared, conn->pg, stmt, conn->params.columns, values, lengths, formats) ||
        (txn->timed && PQsendFlushRequest(conn->pg) != 1))
        conn->broken = true;
    params_reset(&conn->params);
}

static void note_sent_txn(struct db_conn *conn,
                          void (*on_completed)(struct db_conn *, const struct db_result *)) {
    struct db_txn *txn = conn_filled_txn(conn);

    txn->on_completed = on_completed;
    txn->since_us = clock_mono_now();
    conn->sent_txns++;
    conn->state = DB_BUSY;
    conn->wanted = conn->durability;
    stats.transactions++;
}

void db_send_part(struct db_conn *conn, void (*on_completed)(struct db_conn *, const struct db_result *)) {
    note_alive(conn);
    if (!conn->open)
        note_sent_txn(conn, on_completed);
    conn->open = true;
    if (conn->broken || !conn_send_all(conn))
        conn_broken(conn);
}

void db_send(struct db_conn *conn, void (*on_completed)(struct db_conn *, const struct db_result *)) {
    if (!awaits_results(conn))
        note_alive(conn);
    if (!conn->open)
        note_sent_txn(conn, on_completed);
    conn->open = false;
    if (conn->broken || PQpipelineSync(conn->pg) != 1 || !conn_send_all(conn))
        conn_broken(conn);
}

/* ---- start and end ---- */

void db_init(struct event_base *base, const char *conninfo, const struct db_hooks *hooks) {
    db.base = base;
    db.hooks = hooks;
    primary_init(conninfo);
}

void db_stop(void) {
    flush_apart_stop();
    primary_stop();
}

struct db_conn *db_conn_new(const char *name, enum conn_kind kind) {
    struct db_conn *conn = xcalloc(1, sizeof *conn);

    conn->name = name;
    conn->kind = kind;
    conn->backoff_us = BACKOFF_FIRST_US;
    conn->retry_event = event_new(db.base, -1, 0, on_db_timer, conn);
    db.conns[kind] = conn;
    connect_or_wait(conn);
    return conn;
}

void db_conn_free(struct db_conn *conn) {
    db.conns[conn->kind] = NULL;
    db_disconnect(conn);
    for (size_t i = 0; i < DB_MAX_TXNS; i++)
        txn_clear(&conn->txns[i]);
    event_free(conn->retry_event);
    params_free(&conn->params);
    free(conn);
}
