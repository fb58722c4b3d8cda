/* The connection for LISTEN and NOTIFY, over which the servers of one database send messages to each other. */
#include "pg/notify_bus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <libpq-fe.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "pg/db.h"
#include "pg/primary_select.h"
#include "pg/session.h"
#include "sql_gen.h"

#define RETRY_US US_PER_S
#define PATIENCE_US (5 * US_PER_S)
/* Seconds until a sent notification must come back. */
#define DEAF_TICKS 5
/* Failures in a row before the log warns. */
#define WARN_AFTER 3

enum channel_state {
    CHANNEL_DOWN,
    CHANNEL_CONNECTING,
    NOTIFY_BUS_LISTENING,
    NOTIFY_BUS_IDLE,
    NOTIFY_BUS_SENDING
};

static struct {
    struct event_base *base;
    size_t host;
    const struct notify_bus_hooks *hooks;
    enum channel_state state;
    PGconn *conn;
    struct event *io;
    struct event *timer;
    bool heard;     /* a notification has arrived on this connection */
    int session;    /* the session's pg_backend_pid(); behind a pooler PQbackendPID() differs; 0: unknown */
    bool asked;     /* a notification was sent and has not come back */
    int deaf_ticks; /* since then; ticks instead of a time, because this process may have been stopped */
    int failures;   /* since the channel was up */
} channel;

static void on_notify_bus_io(evutil_socket_t fd, short what, void *arg);

static void notify_bus_watch(short what) {
    if (channel.io != NULL)
        event_free(channel.io);
    channel.io = event_new(channel.base, PQsocket(channel.conn), what | EV_PERSIST, on_notify_bus_io, NULL);
    event_add(channel.io, NULL);
}

static void arm(int64_t us) {
    struct timeval tv = { us / US_PER_S, us % US_PER_S };

    event_add(channel.timer, &tv);
}

static void notify_bus_disconnect(void) {
    if (channel.io != NULL)
        event_free(channel.io);
    channel.io = NULL;
    PQfinish(channel.conn);
    channel.conn = NULL;
    channel.heard = false;
    channel.session = 0;
    channel.asked = false;
    channel.deaf_ticks = 0;
    channel.state = CHANNEL_DOWN;
}

static void down(const char *why) {
    char text[256];

    snprintf(text, sizeof text, "%.*s", (int)strcspn(why, "\n"), why);
    if (channel.heard || channel.failures == WARN_AFTER)
        log_warning("channel", "%s: %s",
                    channel.heard ? "lost" : "notifications from other servers do not arrive", text);
    if (!channel.heard && channel.failures == WARN_AFTER)
        log_warning("channel",
                    "servers that share the database now poll it once a second for each other's jobs; "
                    "LISTEN needs a session of its own, so a pooler must use session mode");
    channel.failures++;
    notify_bus_disconnect();
    arm(RETRY_US);
}

static void broken(void) {
    down(PQerrorMessage(channel.conn));
}

static void connect_channel(void) {
    channel.host = primary_host_number();
    channel.conn = session_connect(channel.host, "channel");
    channel.state = CHANNEL_CONNECTING;
    if (PQstatus(channel.conn) == CONNECTION_BAD) {
        broken();
        return;
    }
    notify_bus_watch(EV_WRITE);
    arm(PATIENCE_US);
}

/* ---- steps ---- */

static void notify_bus_connecting_step(void) {
    switch (PQconnectPoll(channel.conn)) {
    case PGRES_POLLING_READING:
        notify_bus_watch(EV_READ);
        return;
    case PGRES_POLLING_WRITING:
        notify_bus_watch(EV_WRITE);
        return;
    case PGRES_POLLING_OK:
        break;
    default:
        broken();
        return;
    }
    notify_bus_watch(EV_READ);
    channel.state = NOTIFY_BUS_LISTENING;
    if (PQsendQuery(channel.conn, sql_listen) != 1)
        broken();
}

/* Postgres delivers a notification to its sender, too, after the commit. */
static void take_notifications(void) {
    PGnotify *n;

    while (channel.conn != NULL && (n = PQnotifies(channel.conn)) != NULL) {
        bool first = !channel.heard;

        channel.heard = true;
        channel.failures = 0;
        if (n->be_pid == channel.session) {
            channel.asked = false;
            channel.deaf_ticks = 0;
        }
        if (first)
            channel.hooks->on_up();
        stats.notifications_received++;
        channel.hooks->on_text(n->extra);
        PQfreemem(n);
    }
}

static void take_results(void) {
    while (channel.state >= NOTIFY_BUS_LISTENING && !PQisBusy(channel.conn)) {
        PGresult *res = PQgetResult(channel.conn);
        ExecStatusType status = PQresultStatus(res);

        if (res == NULL) {
            channel.state = NOTIFY_BUS_IDLE;
            return;
        }
        if (status == PGRES_TUPLES_OK && PQntuples(res) == 1)
            channel.session = atoi(PQgetvalue(res, 0, 0));
        PQclear(res);
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
            broken();
            return;
        }
    }
}

static void on_notify_bus_io(evutil_socket_t fd, short what, void *arg) {
    (void)fd;
    (void)what;
    (void)arg;
    if (channel.state == CHANNEL_CONNECTING) {
        notify_bus_connecting_step();
        return;
    }
    if (PQconsumeInput(channel.conn) != 1) {
        broken();
        return;
    }
    if (channel.state == NOTIFY_BUS_LISTENING || channel.state == NOTIFY_BUS_SENDING)
        take_results();
    take_notifications();
}

/* Runs once a second while the connection is up. */
static void on_notify_bus_timer(evutil_socket_t fd, short what, void *arg) {
    (void)fd;
    (void)what;
    (void)arg;
    if (channel.state == CHANNEL_DOWN)
        connect_channel();
    else if (channel.state < NOTIFY_BUS_IDLE)
        down("no answer in time");
    else if (channel.asked && ++channel.deaf_ticks > DEAF_TICKS)
        down("notifications do not arrive");
    else if (channel.host != primary_host_number())
        down("another host is the primary");
    else
        arm(RETRY_US);
}

/* ---- interface ---- */

void notify_bus_start(struct event_base *base, const struct notify_bus_hooks *hooks) {
    channel.base = base;
    channel.hooks = hooks;
    channel.timer = evtimer_new(base, on_notify_bus_timer, NULL);
    connect_channel();
}

void notify_bus_stop(void) {
    if (channel.base == NULL)
        return;
    notify_bus_disconnect();
    event_free(channel.timer);
    channel.base = NULL;
}

bool notify_bus_is_up(void) {
    return channel.state >= NOTIFY_BUS_IDLE && channel.heard;
}

bool notify_bus_is_failing(void) {
    return !notify_bus_is_up() && channel.failures > WARN_AFTER;
}

bool notify_bus_can_send(void) {
    return channel.state == NOTIFY_BUS_IDLE;
}

bool notify_bus_is_busy(void) {
    return channel.state == NOTIFY_BUS_SENDING;
}

void notify_bus_send(const char *text) {
    const char *values[] = { text };

    channel.asked = true;
    stats.notifications_sent++;
    channel.state = NOTIFY_BUS_SENDING;
    if (PQsendQueryParams(channel.conn, sql_notify, 1, NULL, values, NULL, NULL, 0) != 1)
        broken();
}
