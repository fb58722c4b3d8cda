#ifndef DB_H
#define DB_H

#include <stdbool.h>
#include <stddef.h>
#include <event2/event.h>
#include <libpq-fe.h>
#include "config/config.h"
#include "pg/conn_probe.h"
#include "pg/params.h"
#include "pg/pooler_check.h"
#include "pg/prepared.h"
#include "sql_gen.h"

enum conn_kind {
    CONN_WRITE, /* changes jobs */
    CONN_READ,  /* reads, and maintenance whose commits need no flush */
    CONN_LARGE, /* adds or moves the jobs of large requests, so that CONN_WRITE stays free for other tasks */
    CONN_LONG,  /* reads that may take long, so that CONN_READ stays free for the others */
    CONN_FLUSH, /* flushes the log for transactions of CONN_WRITE (apart_flush.h) */
    CONN_KINDS,
};

/* Why a statement failed. */
struct op_error {
    const char *sqlstate; /* five characters */
    const char *message;  /* Postgres' primary message */
};

/*
 * A few non-blocking libpq connections in pipeline mode. A connection sends transactions: statements followed by one
 * Sync, with one commit. The end of a transaction is reported once. It is reported when the Sync's result has arrived
 * (committed or failed) or when the connection was lost (unknown). A statement's own result comes before the commit,
 * and is therefore not reported.
 *
 * A second transaction may be sent before the result of the first has arrived. The database then begins the second
 * without waiting for a round trip. Transactions are executed, and end, in the order in which they were sent. The
 * second is executed even if the first fails.
 *
 * A TCP connection may be open although no bytes arrive. A connection that has received nothing for three seconds asks
 * about its session over another connection (conn_probe.h). A session that works on a statement may take any time. If the
 * session waits for the client at two probes in a row, the statements or their results are lost. The connection is then
 * closed. An idle connection sends a Sync every three seconds.
 *
 * CONN_WRITE and CONN_LARGE are closed together. CONN_WRITE is opened first, and terminates the older sessions of both.
 * Every lost transaction has then ended before CONN_WRITE queries the commit markers. If CONN_FLUSH is lost while CONN_WRITE
 * has transactions that CONN_FLUSH flushes, CONN_WRITE is closed, too.
 *
 * A closed connection is opened again, with back-off. pooler_check.h checks that the session belongs to this connection
 * alone. The first connection brings the schema up to date. A session prepares the statements that it uses (prepared.h).
 */
#define DB_STATES(X)                                   \
    X(DB_DOWN, "down") /* waits before the next try */ \
    X(DB_CONNECTING, "connecting")                     \
    X(DB_CHECKING, "checking")                         \
    X(DB_IDENTIFYING, "identifying")                   \
    X(DB_MIGRATING, "migrating")                       \
    X(DB_PREPARING, "preparing")                       \
    X(DB_READY, "ready")                               \
    X(DB_BUSY, "busy") /* transactions are sent and not ended */

enum db_state {
#define X(id, name) id,
    DB_STATES(X)
#undef X
};

#define DB_MAX_STATEMENTS 1024 /* in one transaction */
#define DB_MAX_TXNS 2          /* transactions sent and not ended on one connection */

/*
 * The fence of a connection. If an administrator cancels a commit's wait for its standbys, the commit is on the primary
 * only. The end of this transaction, and of those behind it, is not reported until a fence has committed. A fence is a
 * transaction that writes to the WAL and whose wait for the standbys was not cancelled. A lost transaction needs a
 * fence, too: its changes must not be read and answered before the standbys have them. The read connections are an
 * exception: they may show the changes of a transaction that is flushed apart (apart_flush.h).
 */
enum db_fence { FENCE_NONE, FENCE_WANTED, FENCE_SENT };

enum db_outcome {
    DB_COMMITTED,
    DB_FAILED, /* rolled back; see error and failed_at */
    DB_LOST,   /* the connection was lost; the transaction may have been committed */
};

/* The SQLSTATEs of transactions that exceed their bounds. */
#define DB_DISK_FULL "53100" /* made by Postgres */
#define DB_RESULTS_TOO_LARGE "PD003"
#define DB_TOO_LONG "PD004"

enum db_bound {
    DB_BOUND_NONE,
    DB_BOUND_RESULTS,
    DB_BOUND_TIME,
};

/* 0: no bound. */
struct db_bounds {
    size_t result_bytes;
    int64_t busy_us; /* from the end of the transaction before it */
};

struct db_conn;

struct db_result {
    enum db_outcome outcome;
    /* The lost transaction was executed when the session ended, and this server did not close the
     * connection. The statements of the transaction may be the reason. */
    bool at_work;
    size_t count;     /* statements */
    PGresult **rows;  /* if committed: one result for each statement; freed after the callback */
    size_t failed_at; /* if failed: index of the statement */
    /* The time of each of the `count` statements, without the commit. NULL: lost, or without db_time(). */
    const int64_t *took_us;
    /* The error of a failed transaction. If lost: the last error of the session; sqlstate is "" if there was
     * none. */
    struct op_error error;
    const struct op_error *exceeded; /* the same as error if the transaction exceeded a bound, or NULL */
};

/* The statements and results of one transaction on a connection. */
struct db_txn {
    /* Called at its end; set by db_send(). */
    void (*on_completed)(struct db_conn *conn, const struct db_result *result);
    enum durability durability;
    bool flushed_apart;  /* set by flush_apart_ask() */
    bool after_prepares; /* the next results are those of prepared_send_used() */
    bool proved;         /* a proof of the session is before the first statement without a name */
    bool proof_due;      /* the result of the proof comes after proof_at results */
    size_t proof_at;
    unsigned preludes;         /* the next results are of statements before the first one; they are dropped */
    void (*on_snapshot)(void); /* set by db_snapshot() */
    size_t sent;               /* statements */
    size_t collected;          /* results */
    PGresult *results[DB_MAX_STATEMENTS];
    size_t result_bytes;
    bool timed;                         /* set by db_time() */
    int64_t since_us;                   /* clock_mono(): when the statement that is executed began */
    int64_t took_us[DB_MAX_STATEMENTS]; /* of each result, if timed */
    struct db_bounds bounds;            /* set by db_bound() */
    enum db_bound exceeded;
    int64_t busy_since_us; /* clock_mono(): when it was first seen to be the oldest; 0: not yet */
    bool failed;
    size_t failed_at;
    char sqlstate[6];
    char message[512];
};

struct db_conn {
    const char *name; /* "write", "read", "large", "long" or "flush": part of the session's name */
    enum conn_kind kind;
    enum db_state state;
    /* Private. */
    PGconn *pg;
    size_t host;        /* index of the host (conninfo_hosts.h) */
    unsigned tried;     /* hosts that were tried since one was accepted */
    long long timeline; /* the timeline of the database on that host; 0: not known */
    long long started;  /* when that database was started, in microseconds; 0: not known */
    struct event *io_event;
    bool want_write;
    struct event *retry_event;
    int64_t backoff_us;
    struct pooler pooler;
    struct migrate *migrate;
    PGresult *step_result; /* result of the current step of checking or migrating */
    struct prepared prepared;
    struct params params;
    size_t unflushed;           /* parameter bytes in libpq's buffer that the socket may not have taken yet */
    bool broken;                /* a statement could not be sent */
    enum durability durability; /* durability of the session */
    enum durability wanted;     /* durability of the transaction that is being filled */
    struct db_txn txns[DB_MAX_TXNS]; /* a ring */
    size_t oldest;                   /* index of the oldest transaction that has not ended */
    size_t sent_txns;                /* transactions sent and not ended */
    bool open;                       /* the newest of them gets more statements */
    int64_t alive_us;    /* clock_mono(): when bytes last arrived, or when the wait for them began */
    size_t arrived;      /* oldest transactions with complete results, which wait for a fence or a flush */
    uint64_t arrivals;   /* transactions whose results were complete, since the start */
    uint64_t flushing;   /* how many of these the last fence of CONN_FLUSH contains */
    uint64_t flushed;    /* how many of these are flushed */
    bool wait_cancelled; /* in the transaction whose result arrives next */
    enum db_fence fence;
    enum durability fence_durability;
    bool heartbeat_sent;    /* a heartbeat was sent before all transactions, and is not answered */
    unsigned failed_probes; /* probes in a row that found the session waiting for the client */
    struct probe probe;
    struct probe canceller; /* cancels the statement that the session executes */
};

struct db_hooks {
    void (*on_ready)(struct db_conn *conn); /* connected and prepared */
    /* A problem of this machine that keeps the database from working, such as a full disk; NULL: none is known. The
     * hook may be NULL. */
    const char *(*trouble)(void);
};

/* conninfo may name several hosts. All connections go to the primary. After the promotion of another host they move
 * there, and transactions without a result are lost. A former primary is refused. The application_name of each session
 * contains this server's ID. A new session terminates an older session with the same name. */
void db_init(struct event_base *base, const char *conninfo, const struct db_hooks *hooks);
/* Call it when batch.c has freed its connections. */
void db_stop(void);
/* At most one connection of each kind. CONN_WRITE is the first one. */
struct db_conn *db_conn_new(const char *name, enum conn_kind kind);
void db_conn_free(struct db_conn *conn);

/* May another transaction be sent? */
static inline bool db_has_room(const struct db_conn *conn) {
    return conn->state >= DB_READY && conn->sent_txns < DB_MAX_TXNS && conn->fence == FENCE_NONE &&
           !conn->open;
}
/* Sets the durability of the next transaction. Call it before the first statement. Without it the transaction has the
 * durability of the session. */
void db_set_durability(struct db_conn *conn, enum durability durability);
/* Bounds the next transaction. Call it after db_set_durability(). A transaction that exceeds a bound is cancelled, and
 * fails with the SQLSTATE of the bound. If the results go on to twice their bound, the connection is closed, and the
 * transaction is lost with that SQLSTATE. If it commits before, nothing is lost. A session that waits for a lock, the
 * disk or a standby is not cancelled. */
void db_bound(struct db_conn *conn, struct db_bounds bounds);
/* Measures the time of each statement of the next transaction. Call it after db_set_durability(). The session then
 * sends each result at once. That costs some microseconds a statement. */
void db_time(struct db_conn *conn);
/* The next transaction, on CONN_LONG, reads one snapshot. on_taken() is called when the database has taken that, before it
 * executes the statements. It is not called if the transaction fails or is lost before. */
void db_snapshot(struct db_conn *conn, void (*on_taken)(void));
/* The parameters of the next statement; the caller fills them. */
struct params *db_params(struct db_conn *conn);
/* Adds a statement with db_params() to the transaction. If the statement cannot be sent, db_send() closes the
 * connection and reports the transaction as lost. */
void db_statement(struct db_conn *conn, enum sql_stmt stmt);
/* Sends the transaction, which must have a statement. db_has_room() must be true. */
void db_send(struct db_conn *conn, void (*on_completed)(struct db_conn *, const struct db_result *));

/* Sends the statements so far, and keeps the transaction open for more of them. db_send() ends it. The connection must
 * not have sent another transaction before. */
void db_send_part(struct db_conn *conn, void (*on_completed)(struct db_conn *, const struct db_result *));
/* Does the open transaction take its next statement now? Its earlier statements have left libpq's buffer. */
static inline bool db_takes_part(const struct db_conn *conn) {
    return conn->open && conn->unflushed == 0;
}

/* Why the last connection failed, and why the database ended before, if that is known; "" if no error is known. */
const char *db_last_error(void);
/* Notes why the database ended, from its log. db_last_error() shows the text until a connection is ready again. */
void db_note_cause(const char *text);
/* Is it known that the database is away because its disk is full? */
bool db_disk_is_full(void);
/* The version of Postgres, such as 150018; 0 before the first connection. */
int db_server_version(void);

#endif
