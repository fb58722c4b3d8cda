/* The selection of the host: all connections use the same primary, and never a former primary. */
#include "pg/primary_select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "pg/conninfo_hosts.h"
#include "pg/db_private.h"
#include "pg/host_addresses.h"
#include "pg/session.h"

/* The time between two rounds of probes of the other hosts. While all connections get results, only every second round
 * is made. */
#define ROUND_US (3 * US_PER_S)
#define CALM_ROUNDS 2
/* The time from a new connection to the first round. */
#define FIRST_ROUND_US (200 * US_PER_MS)

/* The result of sql/identify.sql. */
struct identity {
    char system[24];
    bool standby;
    long long timeline; /* grows with each promotion */
    long long started;  /* microseconds since 1970 */
};

static struct {
    struct identity newest; /* the primary with the highest timeline; timeline 0: no primary was seen */
    size_t host;            /* the host of that primary */
    bool promoted;          /* since the last primary_was_promoted() */
    char refusal[400];      /* the refusal that was logged last */
    struct event *timer;
    unsigned rounds; /* of probes */
    struct probe probe;
    size_t probed; /* the host that is probed */
} primary;

/* ---- identity ---- */

static bool read_identity(const PGresult *res, struct identity *out) {
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        return false;
    snprintf(out->system, sizeof out->system, "%s", PQgetvalue(res, 0, 0));
    out->standby = PQgetvalue(res, 0, 1)[0] == 't';
    out->timeline = atoll(PQgetvalue(res, 0, 2));
    out->started = atoll(PQgetvalue(res, 0, 3));
    return true;
}

static bool primary_is_another(const struct identity *id) {
    return primary.newest.timeline > 0 && strcmp(id->system, primary.newest.system) != 0;
}

/* Why a connection must not use the host, or NULL. */
static const char *objection(const struct identity *id) {
    static char why[300];

    if (id->standby)
        return "it is a standby";
    if (primary_is_another(id)) {
        snprintf(
            why, sizeof why,
            "it is another database cluster: its system identifier is %s, that of the one in use is %s; if "
            "it is to take that one's place, start this server again",
            id->system, primary.newest.system);
        return why;
    }
    if (id->timeline >= primary.newest.timeline)
        return NULL;
    snprintf(why, sizeof why, "it is a former primary: its timeline is %lld, and %lld has been seen",
             id->timeline, primary.newest.timeline);
    return why;
}

/* ---- move to the primary ---- */

static bool is_accepted(const struct db_conn *conn) {
    return conn->state >= DB_MIGRATING;
}

/* Moves all connections except but to the host. Closes connections to other hosts and to an older timeline. */
static void move_conns(size_t host, long long timeline, const struct db_conn *but) {
    char why[350];

    primary.host = host;
    snprintf(why, sizeof why, "the primary is %s, on timeline %lld", hosts_name(host), timeline);
    DB_EACH_CONN(conn) {
        if (conn == but || (conn->host == host && (!is_accepted(conn) || conn->timeline == timeline)))
            continue;
        if (conn->state != DB_DOWN)
            conn_down(conn, why);
        conn->host = host;
    }
}

static void primary_note(const struct identity *id, size_t host) {
    if (primary.newest.timeline > 0 && id->timeline > primary.newest.timeline) {
        log_warning("db", "%s was promoted: timeline %lld follows %lld", hosts_name(host), id->timeline,
                    primary.newest.timeline);
        primary.promoted = true;
    }
    primary.newest = *id;
}

static void primary_refuse(struct db_conn *conn, const char *objection) {
    char why[400];

    snprintf(why, sizeof why, "%s is refused: %s", hosts_name(conn->host), objection);
    if (strcmp(why, primary.refusal) != 0)
        log_warning(conn_who(conn), "%s", why);
    snprintf(primary.refusal, sizeof primary.refusal, "%s", why);
    conn_down(conn, why);
}

/* ---- probes of the other hosts ---- */

static void probe_in(int64_t us) {
    struct timeval tv = { us / US_PER_S, us % US_PER_S };

    if (hosts_count() > 1)
        event_add(primary.timer, &tv);
}

static void probe_next_host(void);

static void on_primary_probed(void *arg, enum probe_outcome outcome, const PGresult *res) {
    struct identity id;

    (void)arg;
    if (outcome == PROBE_ANSWER && read_identity(res, &id) && objection(&id) == NULL &&
        id.timeline > primary.newest.timeline) {
        primary_note(&id, primary.probed);
        move_conns(primary.probed, id.timeline, NULL);
        probe_in(ROUND_US);
        return;
    }
    probe_next_host();
}

static void probe_next_host(void) {
    primary.probed = (primary.probed + 1) % hosts_count();
    if (primary.probed == primary.host)
        probe_in(ROUND_US);
    else
        probe_start(&primary.probe, db.base, session_connect(primary.probed, "probe"), sql_identify, "",
                    on_primary_probed, NULL);
}

/* Closed connections try the hosts in turn. */
static bool needs_probes(void) {
    bool connected = false, hanging = false;

    DB_EACH_CONN(conn) {
        connected = connected || is_accepted(conn);
        hanging = hanging || conn_hangs(conn);
    }
    return connected && (hanging || primary.rounds++ % CALM_ROUNDS == 0);
}

static void on_primary_timer(evutil_socket_t fd, short what, void *arg) {
    (void)fd;
    (void)what;
    (void)arg;
    /* A connection was accepted during a round, which goes on. */
    if (probe_is_running(&primary.probe))
        return;
    if (!needs_probes()) {
        probe_in(ROUND_US);
        return;
    }
    primary.probed = primary.host;
    probe_next_host();
}

/* ---- interface for connections ---- */

void primary_init(const char *conninfo) {
    hosts_init(conninfo);
    addresses_init();
    primary.timer = event_new(db.base, -1, 0, on_primary_timer, NULL);
    probe_in(ROUND_US);
}

void primary_stop(void) {
    probe_stop(&primary.probe);
    event_free(primary.timer);
}

void primary_choose(struct db_conn *conn) {
    conn->timeline = conn->started = 0;
    DB_EACH_CONN(other) {
        if (is_accepted(other))
            conn->host = primary.host;
    }
}

bool primary_next(struct db_conn *conn) {
    conn->host = (conn->host + 1) % hosts_count();
    return ++conn->tried % hosts_count() == 0;
}

/* A database that resembles Postgres may not know identify.sql. It is accepted without a check. */
bool primary_accept(struct db_conn *conn, const PGresult *identity) {
    struct identity id;

    if (!read_identity(identity, &id))
        return true;
    if (objection(&id) != NULL) {
        primary_refuse(conn, objection(&id));
        return false;
    }
    conn->tried = 0;
    conn->timeline = id.timeline;
    conn->started = id.started;
    primary_note(&id, conn->host);
    move_conns(conn->host, id.timeline, conn);
    primary.refusal[0] = '\0';
    primary.rounds = 0;
    probe_in(FIRST_ROUND_US);
    return true;
}

bool primary_was_promoted(void) {
    bool was = primary.promoted;

    primary.promoted = false;
    return was;
}

/* ---- INFO ---- */

size_t primary_host_number(void) {
    return primary.host;
}

const char *primary_host(void) {
    return hosts_name(primary.host);
}

long long primary_timeline(void) {
    return primary.newest.timeline;
}
