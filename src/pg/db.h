#ifndef DB_H
#define DB_H

#include <stdbool.h>
#include <stddef.h>
#include <event2/event.h>
#include <libpq-fe.h>
#include "config/config.h"
#include "pg/params.h"
#include "pg/pooler.h"
#include "pg/probe.h"
#include "sql_gen.h"

enum lane_kind {
    LANE_HOT,  /* changes jobs; flights in order */
    LANE_SIDE, /* reads and upkeep that need not wait for a flush */
};

/* Why a statement failed. */
struct op_error {
    const char *sqlstate; /* five characters */
    const char *message;  /* the database's primary message */
};

/*
 * A few non-blocking libpq connections in pipeline mode, called lanes. A lane
 * carries flights: statements followed by one Sync, which makes them one
 * transaction with one commit. A flight's end is told once, when the Sync's
 * result is there (committed or not) or the connection died (unknown): never
 * on a statement's own result, which comes before the commit.
 *
 * A second flight may be sent while the first is under way: the database goes
 * on with it at once, rather than wait until we have heard of the first. They
 * are executed, and land, in the order in which they were sent; when one fails,
 * the next is executed all the same.
 *
 * A connection may be deaf: it lives, and nothing comes through. A lane that has
 * heard nothing for some seconds looks at its session over another connection
 * (probe.h). One that is at work is left alone, however long that takes; one that
 * waits for us at two looks has not heard of our flight, or we have not heard its
 * answer, and the connection is given up. An idle lane sends a heartbeat.
 *
 * A lane that is down reconnects by itself, with back-off. It makes sure that
 * the session is its own (pooler.h). The first to connect brings the schema up to date; every connection prepares all
 * statements before it is ready.
 */
#define DB_STATES(X)                            \
    X(DB_DOWN, "down") /* waits to try again */ \
    X(DB_CONNECTING, "connecting")              \
    X(DB_CHECKING, "checking")                  \
    X(DB_IDENTIFYING, "identifying")            \
    X(DB_MIGRATING, "migrating")                \
    X(DB_PREPARING, "preparing")                \
    X(DB_READY, "ready")                        \
    X(DB_FLYING, "flying") /* flights are under way */

enum db_state {
#define X(id, name) id,
    DB_STATES(X)
#undef X
};

#define DB_MAX_STATEMENTS 1024 /* in one flight */
#define DB_MAX_FLIGHTS 2       /* under way on one lane */

/*
 * A commit that waited for its standbys in vain, because somebody cancelled the wait, is a commit here
 * and not there. Its flight, and all after it, are held back, until a fence has passed: a transaction
 * that writes to the log and whose wait nobody cancelled. The same goes for what a lost flight may
 * have committed: it must not be found there, and answered, before the standbys have it.
 */
enum db_fence { FENCE_NONE, FENCE_WANTED, FENCE_SENT };

enum db_outcome {
    DB_COMMITTED,
    DB_FAILED, /* rolled back: error says why, failed_at which statement */
    DB_LOST,   /* the connection died: committed or not, nobody knows */
};

struct db_lane;

struct db_result {
    enum db_outcome outcome;
    /* Of a lost flight: the database was executing it when the session ended, and it is not this server that
     * ended the connection. Its statements may be the reason. */
    bool at_work;
    size_t count;    /* statements */
    PGresult **rows; /* one each when committed; freed after the callback */
    size_t failed_at;
    struct op_error
        error; /* Of a lost flight: the last words of the session; its sqlstate is "" if there were none. */
};

/* A flight, as far as the connection is concerned. */
struct db_flight {
    /* Its end; set by db_send(). */
    void (*on_landed)(struct db_lane *lane, const struct db_result *result);
    enum durability durability;
    bool sets_durability; /* by a statement before all others, of which nobody hears */
    size_t sent;
    size_t collected;
    PGresult *results[DB_MAX_STATEMENTS];
    size_t result_bytes;
    bool failed;
    size_t failed_at;
    char sqlstate[6];
    char message[512];
};

struct db_lane {
    const char *name; /* "hot", "side": for logs */
    enum lane_kind kind;
    enum db_state state;
    /* Private. */
    PGconn *conn;
    size_t host;        /* of hosts.h */
    unsigned tried;     /* hosts since one was accepted */
    long long timeline; /* of the database there; 0: not known */
    struct event *io_event;
    bool want_write;
    struct event *retry_event;
    int64_t backoff_us;
    struct pooler pooler;
    struct migrate *migrate;
    PGresult *step_result; /* of the step under way of checking or migrating */
    struct params params;
    size_t unflushed;           /* bytes that libpq has, and the socket perhaps not yet */
    bool broken;                /* a statement could not be sent */
    enum durability durability; /* of the session, */
    enum durability wanted;     /* and of the flight in the making */
    struct db_flight flights[DB_MAX_FLIGHTS];
    size_t oldest; /* of those under way */
    size_t flying;
    int64_t stirred_us;  /* clock_mono(): the last sign of life, or the begin of waiting for one */
    size_t arrived;      /* flights from the oldest on that have ended, and are held back */
    bool wait_cancelled; /* of the transaction that ends next */
    enum db_fence fence;
    enum durability fence_durability;
    bool beating;    /* a heartbeat is under way, before all flights */
    unsigned doubts; /* looks that found the session waiting, one after the other */
    struct probe probe;
};

struct db_hooks {
    void (*on_ready)(struct db_lane *lane); /* connected and prepared */
    void (*on_down)(struct db_lane *lane);  /* after on_landed, when a flight was under way */
    /* What keeps the database from working, as far as this machine shows it; NULL: nothing. May be NULL. */
    const char *(*trouble)(void);
};

/* conninfo may name several hosts: all lanes are on that which is a primary. When another one has been promoted
 * since, they move there, and flights that got no answer are lost; a former primary is refused. Each lane's session has a name of its own, by this
 * server's node ID, and ends what is left of an earlier one under that name. */
void db_init(struct event_base *base, const char *conninfo, const struct db_hooks *hooks);
struct db_lane *db_lane_new(const char *name, enum lane_kind kind);
void db_lane_free(struct db_lane *lane);

/* May another flight be sent? */
static inline bool db_has_room(const struct db_lane *lane) {
    return lane->state >= DB_READY && lane->flying < DB_MAX_FLIGHTS && lane->fence == FENCE_NONE;
}
/* Says, before its first statement, when the commit of the next flight counts as done; without it that is as
 * the session was set up when it connected. */
void db_begin(struct db_lane *lane, enum durability durability);
/* The parameters of the next statement, to be filled. */
struct params *db_params(struct db_lane *lane);
/* Adds a statement with db_params() to the flight. One that cannot be sent breaks
 * the lane, and db_send() reports the flight as lost. */
void db_statement(struct db_lane *lane, enum sql_stmt stmt);
/* Sends the flight. The lane must have room, and the flight a statement. */
void db_send(struct db_lane *lane, void (*on_landed)(struct db_lane *, const struct db_result *));

/* Has a standby taken the primary's place since this was asked last? It may lack what it had not received. */
bool db_was_promoted(void);
/* The host of the lanes, and how its database counts promotions; 0: not known. */
const char *db_host(void);
/* The same as a number, for session_connect(). */
size_t db_host_number(void);
long long db_timeline(void);
/* Why the last connection failed, and of what the database died before, if that is known; or "". */
const char *db_last_error(void);
/* The database has died of this, says its log. It is told until a lane is ready again. */
void db_note_cause(const char *text);
/* Is it known that the database is away because its disk is full? */
bool db_disk_is_full(void);
/* Version of the server as 150018, 0 before the first connection. */
int db_server_version(void);
const char *db_state_name(enum db_state state);

#endif
