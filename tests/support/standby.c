/* A streaming standby for tests. */
#include "standby.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wait.h"

#define STREAM_MS 30000

static const char *admin(struct postgres *pg) {
    return postgres_conninfo(pg, "postgres");
}

void primary_start(struct postgres *primary) {
    postgres_make(primary);
    postgres_set(primary, "wal_level = replica\n"
                          "max_wal_senders = 5\n"
                          "wal_keep_size = 256MB\n"
                          "hot_standby = on\n");
    postgres_resume(primary);
}

pid_t walsender(struct postgres *primary) {
    return (pid_t)postgres_number(admin(primary), "select coalesce(max(pid), 0) from pg_stat_replication"
                                                  " where state = 'streaming'"
                                                  " and application_name = '" STANDBY_NAME "'");
}

/* The state in /proc/PID/stat follows the name of the program in brackets. */
static bool is_stopped(pid_t pid) {
    char path[PATH_SIZE], line[256] = "";
    const char *state;
    FILE *f;

    path_join(path, "/proc/%d/stat", (int)pid);
    f = fopen(path, "r");
    if (f == NULL)
        return false;
    state = fgets(line, sizeof line, f) == NULL ? NULL : strrchr(line, ')');
    fclose(f);
    return state != NULL && strncmp(state, ") T", 3) == 0;
}

/* A process that is stopped elsewhere may hold a lock for which the commits of the primary wait. */
static bool stops_without_locks(struct postgres *primary, pid_t sender) {
    char sql[128];

    if (kill(sender, SIGSTOP) != 0 || !WAIT_UNTIL(is_stopped(sender), STREAM_MS))
        die("the process that sends WAL does not stop");
    snprintf(sql, sizeof sql,
             "select count(*) from pg_stat_activity where pid = %d and wait_event = 'WalSenderMain'",
             (int)sender);
    if (postgres_number(admin(primary), sql) == 1)
        return true;
    kill(sender, SIGCONT);
    return false;
}

pid_t walsender_stop(struct postgres *primary) {
    pid_t sender = walsender(primary);

    if (sender <= 0)
        die("no process sends WAL to the standby");
    if (!WAIT_UNTIL(stops_without_locks(primary, sender), STREAM_MS))
        die("the process that sends WAL is never idle");
    return sender;
}

bool primary_streams(struct postgres *primary) {
    return postgres_number(admin(primary),
                           "select count(*) from pg_stat_replication where state = 'streaming'"
                           " and application_name = '" STANDBY_NAME "'") == 1;
}

void standby_start(struct postgres *standby, struct postgres *primary) {
    char from[2 * PATH_SIZE], path[PATH_SIZE];
    const char *touch[] = { "touch", path, NULL };

    postgres_back_up(primary, standby);
    snprintf(from, sizeof(from),
             "primary_conninfo = 'host=%s user=postgres application_name=" STANDBY_NAME "'\n", primary->dir);
    postgres_set(standby, from);
    path_join(path, "%s/standby.signal", standby->dir);
    postgres_run(standby, touch);
    postgres_resume(standby);
    if (!WAIT_UNTIL(primary_streams(primary), STREAM_MS))
        die("the standby does not stream");
}

void standby_catches_up(struct postgres *primary) {
    if (!WAIT_UNTIL(postgres_number(admin(primary),
                                    "select coalesce(bool_and(replay_lsn >= pg_current_wal_lsn()),"
                                    " false)::integer from pg_stat_replication") == 1,
                    STREAM_MS))
        die("the standby does not catch up");
}

void standby_promote(struct postgres *standby) {
    free(postgres_query(admin(standby), "select pg_promote(true, 60)"));
    if (!WAIT_UNTIL(postgres_number(admin(standby), "select pg_is_in_recovery()::integer") == 0, STREAM_MS))
        die("the standby is not promoted");
}

void primary_waits_for(struct postgres *primary, const char *names) {
    char text[256];

    snprintf(text, sizeof(text), "alter system set synchronous_standby_names = '%s'", names);
    free(postgres_query(admin(primary), text));
    free(postgres_query(admin(primary), "select pg_reload_conf()"));
    snprintf(text, sizeof(text),
             "select (current_setting('synchronous_standby_names') = '%s' and (%d = 0 or exists"
             " (select from pg_stat_replication where sync_state in ('sync', 'quorum'))))::integer",
             names, names[0] != '\0');
    if (!WAIT_UNTIL(postgres_number(admin(primary), text) == 1, STREAM_MS))
        die("the primary does not wait for %s", names);
}

static bool session_waits(const char *conninfo, int session) {
    char text[128];

    snprintf(text, sizeof text,
             "select count(*) from pg_stat_activity where pid = %d and wait_event = 'SyncRep'", session);
    return postgres_number(conninfo, text) == 1;
}

/* A commit of another session tells whether the setting is in force: that takes Postgres a moment. */
static bool commit_waits(const char *conninfo) {
    PGconn *conn = postgres_connect(conninfo);
    bool does = false;

    if (!PQsendQuery(conn, "select pg_logical_emit_message(true, '', 'x')"))
        die("the session sends no query");
    while (!does && (PQconsumeInput(conn), PQisBusy(conn)))
        does = session_waits(conninfo, PQbackendPID(conn));
    PQfinish(conn);
    return does;
}

void commits_wait_for_missing(const char *conninfo, bool on) {
    free(postgres_query(conninfo, on ? "alter system set synchronous_standby_names = 'missing'"
                                     : "alter system set synchronous_standby_names = ''"));
    free(postgres_query(conninfo, "select pg_reload_conf()"));
    if (!WAIT_UNTIL(commit_waits(conninfo) == on, STREAM_MS))
        die("commits do not follow synchronous_standby_names");
}
