#ifndef FIXTURE_H
#define FIXTURE_H

/* cmocka.h wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <hiredis/hiredis.h>

#include "postgres.h"
#include "server_process.h"
#include "wait.h"
#include "wire.h"

/* The integration suites share these. A program has one Postgres, and one server on an empty database of it. Every test
 * uses queue names of its own, so that tests do not see each other's jobs. */
extern struct postgres pg;
extern struct server server;

#define ID_SIZE 41 /* of a job's ID with its NUL */

/* For main(): starts pg and server, runs the tests that match the glob in
 * $PGDISQUE_TEST_FILTER, stops both, and shows the logs when something failed.
 * A server that crashed or that a sanitizer complained of fails the suite. start and stop
 * may be NULL. */
int run_suite(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction start,
              CMFixtureFunction stop);
#define RUN_SUITE(name, tests) RUN_SUITE_WITH(name, tests, NULL, NULL)
#define RUN_SUITE_WITH(name, tests, start, stop) \
    run_suite(name, tests, sizeof(tests) / sizeof((tests)[0]), start, stop)

/* Fails the test when cond does not become true within the usual deadline. */
#define EVENTUALLY_MS 20000
#define EVENTUALLY(cond)                              \
    do {                                              \
        if (!WAIT_UNTIL(cond, EVENTUALLY_MS))         \
            fail_msg("never became true: %s", #cond); \
    } while (0)

/* Fails the test if cond becomes false before ms are over. A slow machine gets no more time. Use it for events that
 * must not happen, with a small ms. */
#define HOLDS_FOR(ms, cond)                                                \
    do {                                                                   \
        for (int64_t hold_end_ = now_ms() + (ms); now_ms() < hold_end_;) { \
            if (!(cond))                                                   \
                fail_msg("became false within %d ms: %s", ms, #cond);      \
            pause_briefly();                                               \
        }                                                                  \
    } while (0)

/* Connections. They give up after patience(20 s) without a reply. */
redisContext *client_open(void);
redisContext *client_open_on(const struct server *s);

/* Commands as in redisCommand(). The reply as text, valid until the next few
 * calls: +OK -ERR text :1 "bulk" nil [a b]. "closed" when the connection died. */
const char *ask(redisContext *c, const char *fmt, ...);
const char *next_reply(redisContext *c);
/* Puts the command into the output buffer, for pipelines; next_reply() sends. */
void later(redisContext *c, const char *fmt, ...);
/* Asks, and fails the test when the reply is not exactly want. */
void expect(redisContext *c, const char *want, const char *fmt, ...);
/* Compares the beginning of a reply, for errors, of which only the code matters. */
void expect_start(redisContext *c, const char *want, const char *fmt, ...);
/* The next reply must be exactly want. */
void expect_next(redisContext *c, const char *want);
/* An integer reply; anything else fails the test. */
long long number(redisContext *c, const char *fmt, ...);

/* ADDJOB queue body 0 <options>; the ID, valid for good. */
const char *add_job(redisContext *c, const char *queue, const char *body, const char *options);
/* GETJOB NOHANG FROM queue: must deliver a job with that body; its ID. */
const char *get_job(redisContext *c, const char *queue, const char *body);
/* Is there nothing to get? A job that comes out is lost to the test. */
bool queue_is_empty(redisContext *c, const char *queue);
/* A field of SHOW or QSTAT: its text, or "gone" when there is no such object. */
const char *job_field(redisContext *c, const char *id, const char *field);
const char *queue_field(redisContext *c, const char *queue, const char *field);
/* A figure of INFO ALL; -1 when there is no such line. */
long long info_number(redisContext *c, const char *name);
/* The jobs of the queue in the database that fulfil a condition of SQL on their rows, j. */
long long jobs_where(const char *queue, const char *condition);
/* Runs statements in the database of the server. An error ends the test. */
void database_run(const char *statements);
/* How many clients wait in GETJOB on the server now. */
long long blocked_clients(void);
/* A figure of INFO commandstats, such as calls; 0: the command was not called. */
long command_figure(redisContext *c, const char *command, const char *figure);

/* Does the server end by itself, with status 1, and say why? */
bool server_refuses(struct server *s, const char *reason);

/* A raw connection to the server, and to any. */
void raw_open(struct wire *w);
void raw_open_on(struct wire *w, const struct server *s);
/* Does it wait for something, as far as the server of c can tell? */
bool raw_waits(const struct wire *w, redisContext *c);
/* From now on the replies to w stay in the server: w asks for more than the kernel takes, and does not read. */
void raw_stop_reading(struct wire *w);
/* The next reply on it must be exactly want, in value_text()'s form. */
void raw_expect(struct wire *w, const char *want);
/* Has the server received a request of w that has no reply yet? c is another client of the same server. */
bool raw_has_request(const struct wire *w, redisContext *c);
/* Ends the sessions of the servers of this database: "write", "read", "long" or "channel", or "" for all. Returns how many
 * it has ended. */
long long sessions_end(const char *kind);
/* Stops the sessions through which the servers of this database change rows, until writers_go_on(). */
void writers_stop(void);
void writers_go_on(void);
/* Sends a command without arguments that changes rows, and disconnects before the database has answered: the sessions
 * that write are stopped until the server has closed the client. c is another client of the same server. */
void raw_leave_during(struct wire *w, redisContext *c, const char *command);

/* Same number format as in ask(), kept in a rotating buffer. */
const char *text_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
