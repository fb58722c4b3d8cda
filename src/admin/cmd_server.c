/* TIME, ROLE, WAIT, SHUTDOWN, DEBUG, and the commands about Disque's append-only file. */
#include "admin/cmd_server.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "batch/replication_state.h"
#include "commands/dispatch.h"
#include "commands/subcommand.h"
#include "config/config.h"
#include "jobs/flush_all.h"
#include "net/connection.h"
#include "net/usage.h"
#include "queue/queue.h"

/* Maximum for DEBUG SLEEP. A day is longer than any test. */
#define SLEEP_MAX_S 86400.0

/* Every write is committed before its reply, so all answered writes are saved now. */
void cmd_lastsave(struct req *r) {
    req_int(r, clock_db() / US_PER_S);
}

/* Every write is on the standbys before its reply, so WAIT never waits. */
void cmd_wait(struct req *r) {
    int64_t count, timeout;

    if (!parse_int_strict(r->argv[1], &count))
        usage_invalid(r, 1, NOT_AN_INTEGER);
    else if (!parse_int_strict(r->argv[2], &timeout))
        usage_invalid(r, 2, "ERR timeout is not an integer or out of range");
    else if (timeout < 0)
        usage_invalid(r, 2, "ERR timeout is negative");
    else
        req_int(r, replication_count());
}

void cmd_time(struct req *r) {
    int64_t now = clock_unix();
    char text[32];

    reply_array(r, 2);
    snprintf(text, sizeof text, "%lld", (long long)(now / US_PER_S));
    reply_bulk_str(r, text);
    snprintf(text, sizeof text, "%lld", (long long)(now % US_PER_S));
    reply_bulk_str(r, text);
    req_end(r);
}

/* In Redis' terms every server is a primary without replicas. */
void cmd_role(struct req *r) {
    reply_array(r, 3);
    reply_bulk_str(r, "master");
    reply_int(r, 0);
    reply_array(r, 0);
    req_end(r);
}

static void (*shutdown_stop)(void);

void shutdown_by(void (*stop)(void)) {
    shutdown_stop = stop;
}

void cmd_shutdown(struct req *r) {
    if (r->argc > 2 || (r->argc == 2 && !slice_is(r->argv[1], "rewrite-aof"))) {
        usage_unexpected(r, 1);
        return;
    }
    log_notice(client_ident(r->client), "asked for SHUTDOWN");
    shutdown_stop();
    client_close_after_replies(r->client);
    req_end(r);
}

void cmd_bgrewriteaof(struct req *r) {
    reply_status(r, "Background append only file rewriting started");
    req_end(r);
}

void cmd_loadjob(struct req *r) {
    req_error(r, "ERR LOADJOB is a special command only processed from AOF");
}

/* DEBUG. */

static void debug_flushall(struct req *r) {
    flush_all_start(r);
}

static bool parse_seconds(struct slice text, double *out) {
    char *copy = slice_dup(text), *end;
    bool ok;

    errno = 0;
    *out = strtod(copy, &end);
    ok = text.len > 0 && *end == '\0' && errno == 0 && *out >= 0 && *out <= SLEEP_MAX_S;
    free(copy);
    return ok;
}

/* Blocks the whole server, for tests. */
static void debug_sleep(struct req *r) {
    struct timespec left;
    double seconds;

    if (!parse_seconds(r->argv[2], &seconds)) {
        usage_invalid(r, 2, "ERR value is not a number of seconds or out of range");
        return;
    }
    left.tv_sec = (time_t)seconds;
    left.tv_nsec = (long)((seconds - floor(seconds)) * 1e9);
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        continue;
    req_ok(r);
}

static void debug_error(struct req *r) {
    req_error(r, "%.*s", (int)r->argv[2].len, r->argv[2].ptr);
}

static void debug_structsize(struct req *r) {
    struct buf text = { 0 };

    buf_printf(&text, "bits:%zu req:%zu client:%zu queue:%zu job_key:%zu", sizeof(void *) * 8,
               sizeof(struct req), sizeof(struct client), sizeof(struct queue), sizeof(struct job_key));
    req_text(r, &text);
}

/* Nothing to load, because the jobs are in the database. */
static void debug_loadaof(struct req *r) {
    req_ok(r);
}

static void debug_segfault(struct req *r) {
    (void)r;
    raise(SIGSEGV);
}

static void debug_assert(struct req *r) {
    (void)r;
    abort();
}

static void debug_oom(struct req *r) {
    free(xmalloc(PTRDIFF_MAX));
    req_ok(r);
}

static void debug_refused(struct req *r) {
    req_error(r, "ERR DEBUG %.*s is not supported: kill the process and start it again", (int)r->argv[1].len,
              r->argv[1].ptr);
}

void cmd_debug(struct req *r) {
    static const struct subcommand members[] = {
        { "FLUSHALL", 0, 0, debug_flushall }, { "SLEEP", 1, 1, debug_sleep },
        { "ERROR", 1, 1, debug_error },       { "STRUCTSIZE", 0, 0, debug_structsize },
        { "LOADAOF", 0, 0, debug_loadaof },   { "SEGFAULT", 0, 0, debug_segfault },
        { "ASSERT", 0, -1, debug_assert },    { "OOM", 0, 0, debug_oom },
        { "RESTART", 0, 1, debug_refused },   { "CRASH-AND-RECOVER", 0, 1, debug_refused },
    };

    if (!connection_may_debug(r->client))
        req_error(r, "ERR DEBUG command not allowed. The option enable-debug-command allows it, and is read "
                     "only at start.");
    else
        subcommand_run(r, members, LENGTH(members));
}
