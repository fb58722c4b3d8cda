/* The selection of the host: all connections use the same primary, and never a former primary. */
#include "pg/primary_select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "pg/conn.h"
#include "pg/conninfo_hosts.h"
#include "pg/session.h"

/* The time between two rounds of probes of the other hosts. While all connections get results, only every second round
 * is made. */
#define LOOK_US (3 * US_PER_S)
#define CALM_LOOKS 2
/* The time from a new connection to the first round. */
#define FIRST_LOOK_US (200 * US_PER_MS)

/* The result of sql/identify.sql. */
struct identity {
    char system[24];
    bool standby;
    long long timeline; /* grows with each promotion */
};

static struct {
    struct identity newest; /* the primary with the highest timeline; timeline 0: no primary was seen */
    size_t host;            /* the host of that primary */
    bool promoted;          /* since the last db_was_promoted() */
    char refusal[400];      /* the refusal that was logged last */
    struct event *timer;
    unsigned looks; /* rounds of probes */
    struct probe probe;
    size_t looked_at; /* the host that is probed */
} place;

/* ---- identity ---- */

static bool read_identity(const PGresult *res, struct identity *out) {
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        return false;
    snprintf(out->system, sizeof out->system, "%s", PQgetvalue(res, 0, 0));
    out->standby = PQgetvalue(res, 0, 1)[0] == 't';
    out->timeline = atoll(PQgetvalue(res, 0, 2));
    return true;
}

static bool primary_select_is_strange(const struct identity *id) {
    return place.newest.timeline > 0 && strcmp(id->system, place.newest.system) != 0;
}

/* Why a connection must not use the host, or NULL. */
static const char *objection(const struct identity *id) {
    static char why[300];

    if (id->standby)
        return "it is a standby";
    if (primary_select_is_strange(id)) {
        snprintf(
            why, sizeof why,
            "it is another database cluster: its system identifier is %s, that of the one in use is %s; if "
            "it is to take that one's place, start this server again",
            id->system, place.newest.system);
        return why;
    }
    if (id->timeline >= place.newest.timeline)
        return NULL;
    snprintf(why, sizeof why, "it is a former primary: its timeline is %lld, and %lld has been seen",
             id->timeline, place.newest.timeline);
    return why;
}

/* ---- move to the primary ---- */

static bool is_accepted(const struct db_conn *conn) {
    return conn->state >= DB_MIGRATING;
}

/* Moves all connections except but to the host. Closes connections to other hosts and to an older timeline. */
static void gather(size_t host, long long timeline, const struct db_conn *but) {
    char why[350];

    place.host = host;
    snprintf(why, sizeof why, "the primary is %s, on timeline %lld", hosts_name(host), timeline);
    DB_EACH_CONN(conn) {
        if (conn == but || (conn->host == host && (!is_accepted(conn) || conn->timeline == timeline)))
            continue;
        if (conn->state != DB_DOWN)
            conn_down(conn, why);
        conn->host = host;
    }
}

static void primary_select_learn(const struct identity *id, size_t host) {
    if (place.newest.timeline > 0 && id->timeline > place.newest.timeline) {
        log_warning("db", "%s was promoted: timeline %lld follows %lld", hosts_name(host), id->timeline,
                    place.newest.timeline);
        place.promoted = true;
    }
    place.newest = *id;
}

static void primary_select_refuse(struct db_conn *conn, const char *objection) {
    char why[400];

    snprintf(why, sizeof why, "%s is refused: %s", hosts_name(conn->host), objection);
    if (strcmp(why, place.refusal) != 0)
        log_warning(conn_who(conn), "%s", why);
    snprintf(place.refusal, sizeof place.refusal, "%s", why);
    conn_down(conn, why);
}

/* ---- probes of the other hosts ---- */

static void look_in(int64_t us) {
    struct timeval tv = { us / US_PER_S, us % US_PER_S };

    if (hosts_count() > 1)
        event_add(place.timer, &tv);
}

static void look_at_next(void);

static void on_primary_select_looked(void *arg, enum probe_outcome outcome, const PGresult *res) {
    struct identity id;

    (void)arg;
    if (outcome == PROBE_ANSWER && read_identity(res, &id) && objection(&id) == NULL &&
        id.timeline > place.newest.timeline) {
        primary_select_learn(&id, place.looked_at);
        gather(place.looked_at, id.timeline, NULL);
        look_in(LOOK_US);
        return;
    }
    look_at_next();
}

static void look_at_next(void) {
    place.looked_at = (place.looked_at + 1) % hosts_count();
    if (place.looked_at == place.host)
        look_in(LOOK_US);
    else
        probe_start(&place.probe, db.base, session_connect(place.looked_at, "probe"), sql_identify, "",
                    on_primary_select_looked, NULL);
}

/* Probes are needed only while a connection is open. Closed connections try the hosts in turn. */
static bool is_worth_a_look(void) {
    bool connected = false, hanging = false;

    DB_EACH_CONN(conn) {
        connected = connected || is_accepted(conn);
        hanging = hanging || conn_hangs(conn);
    }
    return connected && (hanging || place.looks++ % CALM_LOOKS == 0);
}

static void on_primary_select_timer(evutil_socket_t fd, short what, void *arg) {
    (void)fd;
    (void)what;
    (void)arg;
    if (!is_worth_a_look()) {
        look_in(LOOK_US);
        return;
    }
    place.looked_at = place.host;
    look_at_next();
}

/* ---- interface for connections ---- */

void place_init(const char *conninfo) {
    hosts_init(conninfo);
    place.timer = event_new(db.base, -1, 0, on_primary_select_timer, NULL);
    look_in(LOOK_US);
}

void place_stop(void) {
    probe_stop(&place.probe);
    event_free(place.timer);
}

void place_choose(struct db_conn *conn) {
    conn->timeline = 0;
    DB_EACH_CONN(other)
    if (is_accepted(other))
        conn->host = place.host;
}

bool place_next(struct db_conn *conn) {
    conn->host = (conn->host + 1) % hosts_count();
    return ++conn->tried % hosts_count() == 0;
}

/* A database that resembles Postgres may not know identify.sql. It is accepted without a check. */
bool place_accept(struct db_conn *conn, const PGresult *identity) {
    struct identity id;

    if (!read_identity(identity, &id))
        return true;
    if (objection(&id) != NULL) {
        primary_select_refuse(conn, objection(&id));
        return false;
    }
    conn->tried = 0;
    conn->timeline = id.timeline;
    primary_select_learn(&id, conn->host);
    gather(conn->host, id.timeline, conn);
    place.refusal[0] = '\0';
    place.looks = 0;
    look_in(FIRST_LOOK_US);
    return true;
}

bool db_was_promoted(void) {
    bool was = place.promoted;

    place.promoted = false;
    return was;
}

/* ---- INFO ---- */

size_t db_host_number(void) {
    return place.host;
}

const char *db_host(void) {
    return hosts_name(place.host);
}

long long db_timeline(void) {
    return place.newest.timeline;
}
