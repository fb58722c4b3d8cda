#ifndef SESSION_H
#define SESSION_H

#include "fixture.h"
#include "sql_gen.h"

/*
 * The SQL suites share these: connections that are set up as the server's, and a notation for times, jobs and results
 * in a single line.
 *
 * Times are times of the day DAY: "@12:00:05" in parameters, and 12:00:05 in results and jobs. Every test's time is
 * noon.
 *
 * A job is "queue/rank/id" and its differences from a queued job with ready=11:00:00 expires=13:00:00 retry=60
 * replicate=1 body=x. A list of jobs is separated by "; ": "1/0/7; 1/0/8 ready=12:01:00 owner=3 deliveries=1".
 */
#define DAY "2030-01-01"
#define NOW "@12:00:00"

/* More than any statement has. The first NULL is the end. */
#define STATEMENT_PARAMS 28

/* For main(): starts pg, runs the tests that match $PGDISQUE_TEST_FILTER, stops it. */
int run_sql_suite(const char *name, const struct CMUnitTest *tests, size_t count);

/* Runs migrate_next() to its end. NULL, or the sentence with which it refused. An error of
 * the database ends the test. */
const char *migrate(PGconn *conn);

/* A new database with the schema, and the notation for jobs in a schema "test". */
const char *database_new(void);

/* A connection as the server makes it: settings of sql/session.sql, but without lock_timeout; all statements are
 * prepared. */
PGconn *session_open(const char *conninfo);

/* Empties the tables of jobs, queues and servers; ids of queues begin at 1 again. */
void tables_clear(PGconn *conn);
/* Inserts jobs; and all jobs that there are, in key order. */
void jobs_put(PGconn *conn, const char *jobs);
const char *jobs_now(PGconn *conn);

/* Any SQL text; its last result as below. */
const char *sql(PGconn *conn, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Executes a prepared statement with parameters in text format. The result as "a b; c d": rows
 * separated by "; ", columns by a blank, null as "-", bytes in quotes, an error as "error <sqlstate>".
 * The text is valid until the next few calls. */
const char *call(PGconn *conn, enum sql_stmt stmt, const char *const *params);
#define CALL(conn, stmt, ...) call(conn, stmt, (const char *const[]){ __VA_ARGS__, NULL })
/* Likewise, but rows are in ascending order of their texts: for statements that promise no order. */
const char *call_sorted(PGconn *conn, enum sql_stmt stmt, const char *const *params);

/* The same in two halves, for statements that have to wait. */
void call_send(PGconn *conn, enum sql_stmt stmt, const char *const *params);
#define SEND(conn, stmt, ...) call_send(conn, stmt, (const char *const[]){ __VA_ARGS__, NULL })
const char *call_result(PGconn *conn);
/* Does the statement under way wait for another session's lock? Waits until it does, at most the
 * usual deadline. */
bool waits_for_lock(PGconn *conn);

/* text with every '@' replaced by DAY and a T. */
const char *with_day(const char *text);

#endif
