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
#include "pg/host_addresses.h"
#include "pg/primary_select.h"
#include "pg/session.h"
#include "sql_gen.h"

#define RETRY_US US_PER_S
/* Pause while host names are looked up. */
#define LOOKUP_PAUSE_US (20 * US_PER_MS)
#define BUS_PATIENCE_US (5 * US_PER_S)
/* Seconds until a sent notification must come back. */
#define POLLING_TICKS 5
/* Failures in a row before the log warns. */
#define WARN_AFTER 3

enum bus_state {
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
    enum bus_state state;
    PGconn *conn;
    struct event *io;
    struct event *timer;
    bool received; /* a notification has arrived on this connection */
    int session;   /* the session's pg_backend_pid(); behind a pooler PQbackendPID() differs; 0: unknown */
    bool asked;    /* a notification was sent and has not come back */
    int polling_ticks; /* since then; ticks instead of a time, because this process may have been stopped */
    int failures;      /* since the bus was up */
} bus;

static void on_notify_bus_io(evutil_socket_t fd, short what, void *arg);

static void notify_bus_watch(short what) {
    if (bus.io != NULL)
        event_free(bus.io);
    bus.io = event_new(bus.base, PQsocket(bus.conn), what | EV_PERSIST, on_notify_bus_io, NULL);
    event_add(bus.io, NULL);
}

static void arm(int64_t us) {
    struct timeval tv = { us / US_PER_S, us % US_PER_S };

    event_add(bus.timer, &tv);
}

static void notify_bus_disconnect(void) {
    if (bus.io != NULL)
        event_free(bus.io);
    bus.io = NULL;
    PQfinish(bus.conn);
    bus.conn = NULL;
    bus.received = false;
    bus.session = 0;
    bus.asked = false;
    bus.polling_ticks = 0;
    bus.state = CHANNEL_DOWN;
}

static void down(const char *why) {
    char text[256];

    snprintf(text, sizeof text, "%.*s", (int)strcspn(why, "\n"), why);
    if (bus.received || bus.failures == WARN_AFTER)
        log_warning("notifications", "%s: %s",
                    bus.received ? "lost" : "notifications from other servers do not arrive", text);
    if (!bus.received && bus.failures == WARN_AFTER)
        log_warning("notifications",
                    "servers that share the database now poll it once a second for each other's jobs; "
                    "LISTEN needs a session of its own, so a pooler must use session mode");
    bus.failures++;
    notify_bus_disconnect();
    arm(RETRY_US);
}

static void broken(void) {
    down(PQerrorMessage(bus.conn));
}

static void connect_bus(void) {
    if (!addresses_ready()) {
        arm(LOOKUP_PAUSE_US);
        return;
    }
    bus.host = primary_host_number();
    bus.conn = session_connect(bus.host, "channel");
    bus.state = CHANNEL_CONNECTING;
    if (PQstatus(bus.conn) == CONNECTION_BAD) {
        broken();
        return;
    }
    notify_bus_watch(EV_WRITE);
    arm(BUS_PATIENCE_US);
}

/* ---- steps ---- */

static void notify_bus_connecting_step(void) {
    switch (PQconnectPoll(bus.conn)) {
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
    bus.state = NOTIFY_BUS_LISTENING;
    if (PQsendQuery(bus.conn, sql_listen) != 1)
        broken();
}

/* Postgres delivers a notification to its sender, too, after the commit. */
static void take_notifications(void) {
    PGnotify *n;

    while (bus.conn != NULL && (n = PQnotifies(bus.conn)) != NULL) {
        bool first = !bus.received;

        bus.received = true;
        bus.failures = 0;
        if (n->be_pid == bus.session) {
            bus.asked = false;
            bus.polling_ticks = 0;
        }
        if (first)
            bus.hooks->on_up();
        stats.notifications_received++;
        bus.hooks->on_text(n->extra);
        PQfreemem(n);
    }
}

static void take_results(void) {
    while (bus.state >= NOTIFY_BUS_LISTENING && !PQisBusy(bus.conn)) {
        PGresult *res = PQgetResult(bus.conn);
        ExecStatusType status = PQresultStatus(res);

        if (res == NULL) {
            bus.state = NOTIFY_BUS_IDLE;
            return;
        }
        if (status == PGRES_TUPLES_OK && PQntuples(res) == 1)
            bus.session = atoi(PQgetvalue(res, 0, 0));
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
    if (bus.state == CHANNEL_CONNECTING) {
        notify_bus_connecting_step();
        return;
    }
    if (PQconsumeInput(bus.conn) != 1) {
        broken();
        return;
    }
    if (bus.state == NOTIFY_BUS_LISTENING || bus.state == NOTIFY_BUS_SENDING)
        take_results();
    take_notifications();
}

/* Runs once a second while the connection is up. */
static void on_notify_bus_timer(evutil_socket_t fd, short what, void *arg) {
    (void)fd;
    (void)what;
    (void)arg;
    if (bus.state == CHANNEL_DOWN)
        connect_bus();
    else if (bus.state < NOTIFY_BUS_IDLE)
        down("no answer in time");
    else if (bus.asked && ++bus.polling_ticks > POLLING_TICKS)
        down("notifications do not arrive");
    else if (bus.host != primary_host_number())
        down("another host is the primary");
    else
        arm(RETRY_US);
}

/* ---- interface ---- */

void notify_bus_start(struct event_base *base, const struct notify_bus_hooks *hooks) {
    bus.base = base;
    bus.hooks = hooks;
    bus.timer = evtimer_new(base, on_notify_bus_timer, NULL);
    connect_bus();
}

void notify_bus_stop(void) {
    if (bus.base == NULL)
        return;
    notify_bus_disconnect();
    event_free(bus.timer);
    bus.base = NULL;
}

bool notify_bus_is_up(void) {
    return bus.state >= NOTIFY_BUS_IDLE && bus.received;
}

bool notify_bus_is_failing(void) {
    return !notify_bus_is_up() && bus.failures > WARN_AFTER;
}

bool notify_bus_can_send(void) {
    return bus.state == NOTIFY_BUS_IDLE;
}

bool notify_bus_is_busy(void) {
    return bus.state == NOTIFY_BUS_SENDING;
}

void notify_bus_send(const char *text) {
    const char *values[] = { text };

    bus.asked = true;
    stats.notifications_sent++;
    bus.state = NOTIFY_BUS_SENDING;
    if (PQsendQueryParams(bus.conn, sql_notify, 1, NULL, values, NULL, NULL, 0) != 1)
        broken();
}
