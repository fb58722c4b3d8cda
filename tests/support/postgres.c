/* A throwaway Postgres for tests. */
#include "postgres.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server_process.h"
#include "wait.h"

#define START_MS 30000

static const char settings[] = "listen_addresses = ''\n"
                               "fsync = off\n"
                               "full_page_writes = off\n"
                               "wal_init_zero = off\n"
                               "wal_level = minimal\n"
                               "max_wal_senders = 0\n"
                               "max_connections = 60\n"
                               "shared_buffers = 32MB\n"
                               "unix_socket_permissions = 0777\n"
                               "restart_after_crash = on\n"
                               "log_line_prefix = '%m [%p] '\n";

const char citus_settings[] = "shared_preload_libraries = 'citus'\n"
                              "wal_level = logical\n"
                              "max_wal_senders = 4\n"
                              "max_worker_processes = 64\n"
                              "max_prepared_transactions = 60\n";

static bool has_program(const char *dir, const char *name) {
    char path[PATH_SIZE];

    path_join(path, "%s/%s", dir, name);
    return access(path, X_OK) == 0;
}

/* Where initdb and postgres are: $PG_BINDIR, or the newest Debian package's. */
static const char *bin_dir(void) {
    static char dir[PATH_SIZE];
    const char *env = getenv("PG_BINDIR");
    glob_t found = { 0 };

    if (dir[0])
        return dir;
    if (env && has_program(env, "initdb"))
        path_join(dir, "%s", env);
    else if (glob("/usr/lib/postgresql/*/bin", 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            if (has_program(found.gl_pathv[i], "initdb"))
                path_join(dir, "%s", found.gl_pathv[i]);
    globfree(&found);
    if (!dir[0])
        die("no Postgres found; set PG_BINDIR to the directory of initdb");
    return dir;
}

static void give_to_postgres_user(const char *path) {
    gid_t gid;
    uid_t uid = unprivileged_uid(&gid);

    if (uid && chown(path, uid, gid) != 0)
        die("chown %s: %s", path, strerror(errno));
}

static void add_settings(const char *dir, const char *lines) {
    char path[PATH_SIZE];
    FILE *f;

    path_join(path, "%s/postgresql.conf", dir);
    f = fopen(path, "a");
    if (!f || fputs(lines, f) < 0 || fclose(f) != 0)
        die("%s: %s", path, strerror(errno));
}

static bool uses_citus(void) {
    return getenv("PGDISQUE_TEST_CITUS") != NULL;
}

/* initdb works in a directory of its own user's, made by us beforehand. */
static void make_template(const char *dir) {
    char tmp[PATH_SIZE], program[PATH_SIZE], log[PATH_SIZE];
    const char *argv[] = { program,      "-D", tmp,     "-U",        "postgres",          "-E", "UTF8",
                           "--locale=C", "-A", "trust", "--no-sync", "--no-instructions", NULL };

    path_join(program, "%s/initdb", bin_dir());
    path_join(tmp, "%s.%d", dir, (int)getpid());
    path_join(log, "%s.log", dir);
    if (mkdir(tmp, 0700) != 0)
        die("%s: %s", tmp, strerror(errno));
    give_to_postgres_user(tmp);
    run_command(&(struct spawn){ .argv = argv, .log = log, .unprivileged = true });
    add_settings(tmp, settings);
    if (uses_citus())
        add_settings(tmp, citus_settings);
    if (rename(tmp, dir) != 0)
        die("%s: %s", dir, strerror(errno));
}

/* The databases of postgres_migrated(). Nothing connects to "migrated", so that it can be copied. */
static void make_migrated(const char *dir) {
    static const char load[] = "\"$0\" schema | \"$1\" -Xq -v ON_ERROR_STOP=1 -o /dev/null \"$2\"";
    struct postgres cluster = { 0 };
    const char *argv[] = { "sh", "-ec", load, server_program(), postgres_program("psql"), NULL, NULL };

    path_join(cluster.dir, "%s", dir);
    path_join(cluster.log, "%s.log", dir);
    postgres_resume(&cluster);
    free(postgres_query(postgres_conninfo(&cluster, "postgres"),
                        "create database migrated template template0"));
    argv[5] = postgres_conninfo(&cluster, "migrated");
    run_command(&(struct spawn){ .argv = argv, .log = cluster.log });
    free(postgres_query(postgres_conninfo(&cluster, "postgres"), "create database test0 template migrated"));
    postgres_stop(&cluster, false);
}

/* Suites run at the same time. The first one makes the template, and the others wait. */
static const char *template_dir(void) {
    static char dir[PATH_SIZE];
    char lock[PATH_SIZE], made[PATH_SIZE];
    int fd;

    path_join(dir, "%s/template", run_dir());
    path_join(lock, "%s/template.lock", run_dir());
    fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || flock(fd, LOCK_EX) != 0)
        die("%s: %s", lock, strerror(errno));
    path_join(made, "%s/template.made", run_dir());
    if (access(made, F_OK) != 0) {
        make_template(dir);
        if (!uses_citus())
            make_migrated(dir);
        close(open(made, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    }
    close(fd);
    return dir;
}

static bool accepts(const struct postgres *pg) {
    char conninfo[PATH_SIZE + 64];
    int status;

    if (has_ended(pg->pid, &status)) {
        show_tail(pg->log, "postgres");
        die("postgres ended with status %d", status);
    }
    snprintf(conninfo, sizeof(conninfo), "host=%s user=postgres dbname=postgres", pg->dir);
    return PQping(conninfo) == PQPING_OK;
}

void postgres_resume(struct postgres *pg) {
    char program[PATH_SIZE];
    const char *argv[] = { program, "-D", pg->dir, "-k", pg->dir, NULL };

    path_join(program, "%s/postgres", bin_dir());
    /* SIGQUIT is the immediate shutdown: no backend stays behind. */
    pg->pid =
        spawn(&(struct spawn){ .argv = argv, .log = pg->log, .death_signal = SIGQUIT, .unprivileged = true });
    if (!WAIT_UNTIL(accepts(pg), START_MS)) {
        show_tail(pg->log, "postgres");
        die("postgres does not take connections");
    }
}

static void choose_place(struct postgres *pg) {
    static int count;

    *pg = (struct postgres){ 0 };
    path_join(pg->dir, "%s/pg%d", scratch_dir(), count);
    path_join(pg->log, "%s/pg%d.log", scratch_dir(), count);
    count++;
}

void postgres_make(struct postgres *pg) {
    const char *argv[] = { "cp", "-a", template_dir(), pg->dir, NULL };

    choose_place(pg);
    run_command(&(struct spawn){ .argv = argv });
}

void postgres_start_new(struct postgres *pg) {
    choose_place(pg);
    make_template(pg->dir);
    postgres_resume(pg);
}

void postgres_set(struct postgres *pg, const char *lines) {
    add_settings(pg->dir, lines);
}

void postgres_start(struct postgres *pg) {
    postgres_make(pg);
    postgres_resume(pg);
}

void postgres_back_up(const struct postgres *pg, struct postgres *copy) {
    char lock[PATH_SIZE];
    const char *argv[] = { postgres_program("pg_basebackup"),
                           "-h",
                           pg->dir,
                           "-U",
                           "postgres",
                           "-D",
                           copy->dir,
                           "-c",
                           "fast",
                           "--no-sync",
                           NULL };

    choose_place(copy);
    if (mkdir(copy->dir, 0700) != 0)
        die("%s: %s", copy->dir, strerror(errno));
    give_to_postgres_user(copy->dir);
    postgres_run(copy, argv);
    /* The socket lies in the directory, so its lock comes along. */
    path_join(lock, "%s/.s.PGSQL.5432.lock", copy->dir);
    unlink(lock);
}

const char *postgres_program(const char *name) {
    char path[PATH_SIZE];

    path_join(path, "%s/%s", bin_dir(), name);
    return forever(path);
}

void postgres_run(const struct postgres *pg, const char *const *argv) {
    run_command(&(struct spawn){ .argv = argv, .log = pg->log, .unprivileged = true });
}

void postgres_stop(struct postgres *pg, bool at_once) {
    if (!pg->pid)
        return;
    kill(pg->pid, at_once ? SIGQUIT : SIGINT);
    if (wait_exit(pg->pid, START_MS) < 0)
        die("postgres did not stop");
    pg->pid = 0;
}

static const char *conninfo_of(const struct postgres *pg, const char *name) {
    char conninfo[PATH_SIZE + 64];

    snprintf(conninfo, sizeof(conninfo), "host=%s user=postgres dbname=%s", pg->dir, name);
    return forever(conninfo);
}

static const char *make_database(struct postgres *pg, const char *template) {
    char name[32], sql[96];

    snprintf(name, sizeof(name), "test%d", ++pg->databases);
    snprintf(sql, sizeof(sql), "create database %s template %s", name, template);
    free(postgres_query(conninfo_of(pg, "postgres"), sql));
    return conninfo_of(pg, name);
}

const char *postgres_conninfo(struct postgres *pg, const char *name) {
    const char *made;

    if (name)
        return conninfo_of(pg, name);
    made = make_database(pg, "template0");
    if (uses_citus())
        free(postgres_query(made, "create extension citus"));
    return made;
}

const char *postgres_migrated(struct postgres *pg) {
    if (uses_citus())
        return postgres_conninfo(pg, NULL);
    if (pg->databases > 0)
        return make_database(pg, "migrated");
    pg->databases++;
    return conninfo_of(pg, "test0");
}

PGconn *postgres_connect(const char *conninfo) {
    PGconn *conn = PQconnectdb(conninfo);

    if (PQstatus(conn) != CONNECTION_OK)
        die("connection to %s: %s", conninfo, PQerrorMessage(conn));
    return conn;
}

/* Postgres sends nothing to an idle session but the reason why the session ends. */
static bool is_open(PGconn *conn) {
    struct pollfd socket = { .fd = PQsocket(conn), .events = POLLIN };

    return PQstatus(conn) == CONNECTION_OK && poll(&socket, 1, 0) == 0;
}

/* The connection of the last query. A test asks one database again and again, and a new session costs much more
 * than a query. A child process closes its copy of the socket first, so that the session of its parent goes on. */
static PGconn *asking(const char *conninfo) {
    static struct {
        PGconn *conn;
        const char *conninfo;
        pid_t owner;
    } last;
    bool is_mine = last.conn && last.owner == getpid();

    if (is_mine && strcmp(last.conninfo, conninfo) == 0 && is_open(last.conn))
        return last.conn;
    if (last.conn && !is_mine)
        close(PQsocket(last.conn));
    PQfinish(last.conn);
    last.conn = postgres_connect(conninfo);
    last.conninfo = forever(conninfo);
    last.owner = getpid();
    return last.conn;
}

char *postgres_query(const char *conninfo, const char *sql) {
    PGresult *res = PQexec(asking(conninfo), sql);
    ExecStatusType status = PQresultStatus(res);
    char *value = NULL;

    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        die("%s: %s", sql, PQresultErrorMessage(res));
    if (status == PGRES_TUPLES_OK && PQntuples(res) > 0 && PQnfields(res) > 0)
        value = strdup(PQgetvalue(res, 0, 0));
    PQclear(res);
    return value;
}

long long postgres_number(const char *conninfo, const char *sql) {
    char *value = postgres_query(conninfo, sql);
    long long number;

    if (!value)
        die("no row: %s", sql);
    number = atoll(value);
    free(value);
    return number;
}
