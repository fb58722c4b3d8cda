/* Backups of the schema by pg_dump and pg_restore, compared by rows and checksums. */
#include "tools/dump.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <libpq-fe.h>

#include "base/clock.h"
#include "pg/embedded/pg_binaries.h"
#include "sql_gen.h"
#include "tools/line_options.h"
#include "tools/line_progress.h"
#include "version.h"

#define FIGURES "pgdisque.json"
#define FORMAT 1
#define POLL_US (100 * US_PER_MS)
#define MAX_ARGS 16
/* The descriptor of the service file in a child. */
#define SERVICE_FD 3

struct dump_table {
    char *name, *rows, *checksum;
};

struct dump {
    const char *tool;
    PGconn *conn;
    struct dump_table *tables;
    size_t count;
    struct line_progress progress;
    int64_t copied,
        copying; /* rows that pg_dump or pg_restore has copied: of earlier tables, and of the current one */
    char current[80]; /* the current table */
};

/* ---- statements ---- */

static bool dump_fail(const struct dump *d, const char *what, const char *why) {
    char *text = xstrdup(why);

    text[strcspn(text, "\n")] = '\0';
    line_refuse(d->tool, what, text);
    free(text);
    return false;
}

/* NULL after an error message. */
static PGresult *dump_ask(const struct dump *d, const char *sql) {
    PGresult *r = PQexec(d->conn, sql);

    if (PQresultStatus(r) == PGRES_TUPLES_OK || PQresultStatus(r) == PGRES_COMMAND_OK)
        return r;
    dump_fail(d, "the database refuses a statement", PQresultErrorMessage(r));
    PQclear(r);
    return NULL;
}

static bool dump_do(const struct dump *d, const char *sql) {
    PGresult *r = dump_ask(d, sql);

    PQclear(r);
    return r != NULL;
}

/* The first value; NULL after an error message. The caller frees it. */
static char *dump_value(const struct dump *d, const char *sql) {
    PGresult *r = dump_ask(d, sql);
    char *value = r == NULL ? NULL : xstrdup(PQntuples(r) > 0 ? PQgetvalue(r, 0, 0) : "");

    PQclear(r);
    return value;
}

static bool dump_connect(struct dump *d, const char *conninfo) {
    d->conn = PQconnectdb(conninfo);
    if (PQstatus(d->conn) != CONNECTION_OK)
        return dump_fail(d, "cannot connect to the database", PQerrorMessage(d->conn));
    return dump_do(d, sql_dump_session);
}

static void dump_end(struct dump *d) {
    PQfinish(d->conn);
    for (size_t i = 0; i < d->count; i++) {
        free(d->tables[i].name);
        free(d->tables[i].rows);
        free(d->tables[i].checksum);
    }
    free(d->tables);
}

/* ---- rows and checksums ---- */

static void dump_add_table(struct dump *d, const char *name, const char *rows, const char *checksum) {
    d->tables = xrealloc(d->tables, (d->count + 1) * sizeof *d->tables);
    d->tables[d->count++] = (struct dump_table){ xstrdup(name), xstrdup(rows), xstrdup(checksum) };
}

static bool read_table(struct dump *d, const char *name, const char *statement) {
    PGresult *r = dump_ask(d, statement);

    if (r != NULL)
        dump_add_table(d, name, PQgetvalue(r, 0, 0), PQgetvalue(r, 0, 1));
    PQclear(r);
    return r != NULL;
}

/* Reads the rows and checksums of all tables. */
static bool read_tables(struct dump *d) {
    PGresult *names = dump_ask(d, sql_dump_tables);
    bool good = names != NULL;

    line_progress_begin(&d->progress, "tables read");
    d->progress.total = good ? PQntuples(names) : 0;
    for (int i = 0; good && i < PQntuples(names); i++) {
        good = read_table(d, PQgetvalue(names, i, 0), PQgetvalue(names, i, 1));
        line_progress_tell(&d->progress, i + 1);
    }
    line_progress_clear(&d->progress);
    PQclear(names);
    return good;
}

static void dump_sum(const struct dump *d, struct dump_report *out) {
    *out = (struct dump_report){ .tables = (int)d->count };
    for (size_t i = 0; i < d->count; i++) {
        int64_t rows = strtoll(d->tables[i].rows, NULL, 10);

        out->rows += rows;
        if (strcmp(d->tables[i].name, "job") == 0)
            out->jobs = rows;
    }
}

/* ---- the file of figures ---- */

static bool write_figures(const struct dump *d, const char *dir) {
    json_t *tables = json_object(), *all;
    char *path = xasprintf("%s/" FIGURES, dir), *text;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool good;

    for (size_t i = 0; i < d->count; i++)
        json_object_set_new(
            tables, d->tables[i].name,
            json_pack("{s:s, s:s}", "rows", d->tables[i].rows, "checksum", d->tables[i].checksum));
    all = json_pack("{s:i, s:s, s:o}", "format", FORMAT, "version", PGDISQUE_VERSION, "tables", tables);
    text = json_dumps(all, JSON_INDENT(1));
    good = fd >= 0 && dprintf(fd, "%s\n", text) > 0 && fsync(fd) == 0;
    if (!good)
        dump_fail(d, path, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(text);
    json_decref(all);
    free(path);
    return good;
}

static bool read_figures_of(struct dump *d, const char *dir) {
    char *path = xasprintf("%s/" FIGURES, dir);
    json_t *all = json_load_file(path, 0, NULL), *tables = json_object_get(all, "tables"), *table;
    bool good = json_integer_value(json_object_get(all, "format")) == FORMAT && json_object_size(tables) > 0;
    const char *name;

    free(path);
    json_object_foreach(tables, name, table) {
        const char *rows = json_string_value(json_object_get(table, "rows"));
        const char *checksum = json_string_value(json_object_get(table, "checksum"));

        good = good && rows != NULL && checksum != NULL;
        if (good)
            dump_add_table(d, name, rows, checksum);
    }
    json_decref(all);
    return good || line_refuse(d->tool, "this is no complete backup of pgdisque", dir);
}

static const struct dump_table *table_of(const struct dump *d, const char *name) {
    for (size_t i = 0; i < d->count; i++) {
        if (strcmp(d->tables[i].name, name) == 0)
            return &d->tables[i];
    }
    return NULL;
}

/* Has the database the rows of the backup? */
static bool compare_tables(const struct dump *backup, struct dump *target) {
    if (!read_tables(target))
        return false;
    for (size_t i = 0; i < backup->count; i++) {
        const struct dump_table *want = &backup->tables[i], *got = table_of(target, want->name);

        if (got == NULL || strcmp(got->rows, want->rows) != 0 || strcmp(got->checksum, want->checksum) != 0) {
            char *why = xasprintf("the table %s has %s rows, and the backup %s", want->name,
                                  got == NULL ? "no" : got->rows, want->rows);

            line_refuse(target->tool, "the restored rows differ from the backup", why);
            free(why);
            return false;
        }
    }
    return backup->count == target->count ||
           line_refuse(target->tool, "the restored schema has other tables than the backup", "");
}

/* ---- pg_dump and pg_restore ---- */

/* The socket in /proc/self of this process, as its child sees it. */
static char *host_for_child(const char *host) {
    if (strncmp(host, "/proc/self/", 11) != 0)
        return xstrdup(host);
    return xasprintf("/proc/%d/%s", (int)getpid(), host + 11);
}

/* The options of the connection, and those that the database needs. */
static void service_options(const struct dump *d, int fd, const char *given) {
    PGresult *r = dump_ask(d, sql_dump_options);
    const char *needed = r != NULL ? PQgetvalue(r, 0, 0) : "";

    if (given[0] != '\0' || needed[0] != '\0')
        dprintf(fd, "options=%s %s\n", given, needed);
    PQclear(r);
}

/* A service file of libpq for the host of the connection. It keeps passwords off the command line. -1 with errno. */
static int make_service(const struct dump *d, const char *name) {
    static const char *const others[] = { "host",
                                          "port",
                                          "hostaddr",
                                          "application_name",
                                          "fallback_application_name",
                                          "target_session_attrs",
                                          "load_balance_hosts",
                                          "service",
                                          "servicefile" };
    int fd = memfd_create("pgdisque-service", 0);
    PQconninfoOption *options = PQconninfo(d->conn);
    char *host = host_for_child(PQhost(d->conn));
    const char *given = "";

    dprintf(fd, "[pgdisque]\nhost=%s\nport=%s\napplication_name=%s\n", host, PQport(d->conn), name);
    for (PQconninfoOption *o = options; o->keyword != NULL; o++) {
        bool other = o->val == NULL || o->val[0] == '\0';

        for (size_t i = 0; i < LENGTH(others) && !other; i++)
            other = strcmp(o->keyword, others[i]) == 0;
        if (!other && strcmp(o->keyword, "options") == 0)
            given = o->val;
        else if (!other)
            dprintf(fd, "%s=%s\n", o->keyword, o->val);
        else if (strcmp(o->keyword, "hostaddr") == 0 && o->val != NULL && o->val[0] != '\0')
            dprintf(fd, "hostaddr=%s\n", PQhostaddr(d->conn));
    }
    service_options(d, fd, given);
    PQconninfoFree(options);
    free(host);
    return fd;
}

/* The errors go to a file in memory, and the environment names the service file. */
_Noreturn static void run_program(const char *path, const char *const *args, int service, int errors) {
    char *argv[MAX_ARGS + 2] = { (char *)path };

    for (size_t i = 0; i < MAX_ARGS && args[i] != NULL; i++)
        argv[i + 1] = (char *)args[i];
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (dup2(errors, STDERR_FILENO) >= 0 && dup2(service, SERVICE_FD) >= 0 &&
        fcntl(SERVICE_FD, F_SETFD, 0) == 0) {
        setenv("PGSERVICEFILE", "/proc/self/fd/3", 1);
        execv(path, argv);
    }
    dprintf(STDERR_FILENO, "%s: %s\n", path, strerror(errno));
    _exit(126);
}

/* Shows the rows that the program has copied. */
static void tell_copied(struct dump *d, const char *name) {
    PGresult *r;

    if (!isatty(STDERR_FILENO) || PQtransactionStatus(d->conn) == PQTRANS_INERROR)
        return;
    r = PQexecParams(d->conn, sql_dump_progress, 1, NULL, &name, NULL, NULL, 0);
    if (PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) > 0) {
        if (strcmp(d->current, PQgetvalue(r, 0, 0)) != 0) {
            d->copied += d->copying;
            snprintf(d->current, sizeof d->current, "%s", PQgetvalue(r, 0, 0));
        }
        d->copying = strtoll(PQgetvalue(r, 0, 1), NULL, 10);
    }
    PQclear(r);
    line_progress_tell(&d->progress, d->copied + d->copying);
}

/* Waits for the program. At SIGINT or SIGTERM it is ended, too. */
static int wait_program(struct dump *d, pid_t pid, const char *name) {
    int status = 0;

    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (line_ended())
            kill(pid, SIGTERM);
        tell_copied(d, name);
        usleep(POLL_US);
    }
    line_progress_clear(&d->progress);
    return status;
}

/* Prints the first error of the program. */
static bool program_failed(const struct dump *d, const char *program, int errors) {
    char text[600];
    ssize_t len = pread(errors, text, sizeof text - 1, 0);

    text[len < 0 ? 0 : len] = '\0';
    if (line_ended())
        return line_refuse(d->tool, "it was interrupted", "");
    return dump_fail(d, program, text[0] != '\0' ? text : "it failed without a message");
}

static bool run_client(struct dump *d, const char *program, const char *const *args, int64_t rows) {
    char *path = pg_binary_find_client(program, PQserverVersion(d->conn) / 10000);
    char *name = xasprintf("pgdisque tool %d", (int)getpid());
    int service = make_service(d, name), errors = memfd_create("pgdisque-errors", MFD_CLOEXEC), status = 1;
    pid_t pid = path == NULL || service < 0 || errors < 0 ? -1 : fork();
    bool good;

    if (pid == 0)
        run_program(path, args, service, errors);
    line_progress_begin(&d->progress, "rows copied");
    d->progress.total = rows;
    if (pid > 0)
        status = wait_program(d, pid, name);
    good = pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (path == NULL)
        line_refuse(d->tool,
                    "the program is missing or older than the database; install Debian's postgresql-client",
                    program);
    else if (!good)
        program_failed(d, program, errors);
    close(service);
    close(errors);
    free(name);
    free(path);
    return good;
}

/* ---- backup ---- */

static bool make_files(struct dump *d, const char *dir, const char *snapshot, int64_t rows) {
    const char *args[] = {
        "-n", "pgdisque",         "-Fd", "-f", dir, "-w", "--snapshot", snapshot, "--lock-wait-timeout=60s",
        "-d", "service=pgdisque", NULL
    };

    umask(077);
    return run_client(d, "pg_dump", args, rows) && write_figures(d, dir);
}

static bool make_dump(struct dump *d, const char *dir, struct dump_report *out) {
    char *known = dump_value(d, sql_dump_begin), *snapshot = NULL;
    bool good = known != NULL;

    if (good && strcmp(known, "t") != 0)
        good = line_refuse(d->tool, "this database has no tables of pgdisque", "");
    if (good)
        snapshot = dump_value(d, sql_dump_snapshot);
    good = good && snapshot != NULL && read_tables(d);
    if (good)
        dump_sum(d, out);
    good = good && make_files(d, dir, snapshot, out->rows);
    free(known);
    free(snapshot);
    return good;
}

/* A directory that another process makes is not this backup's, and must not be removed. pg_dump takes an empty one. */
static bool make_directory(const struct dump *d, const char *dir) {
    if (mkdir(dir, 0700) == 0)
        return true;
    return errno == EEXIST ? line_refuse(d->tool, "this exists already; name a new directory", dir)
                           : dump_fail(d, dir, strerror(errno));
}

bool dump_make(const char *tool, const char *conninfo, const char *dir, struct dump_report *out) {
    struct dump d = { .tool = tool };
    bool good;

    if (!make_directory(&d, dir))
        return false;
    good = dump_connect(&d, conninfo) && make_dump(&d, dir, out);
    dump_end(&d);
    if (!good)
        dump_remove(dir);
    return good;
}

void dump_report_figures(const struct dump_report *report, struct line_report *to) {
    line_report_number(to, "jobs", report->jobs);
    line_report_number(to, "rows", report->rows);
    line_report_number(to, "tables", report->tables);
}

void dump_remove(const char *dir) {
    DIR *files = opendir(dir);
    struct dirent *file;

    while (files != NULL && (file = readdir(files)) != NULL)
        (void)unlinkat(dirfd(files), file->d_name, 0);
    if (files != NULL)
        closedir(files);
    (void)rmdir(dir);
}

/* ---- restore ---- */

static bool check_target(const struct dump *d, bool replace) {
    PGresult *r = dump_ask(d, sql_dump_target);
    bool good = r != NULL;

    for (int i = 0; good && i < PQntuples(r); i++) {
        bool may_replace = strcmp(PQgetvalue(r, i, 1), "t") == 0;

        if (!may_replace || !replace)
            good = line_refuse(d->tool, PQgetvalue(r, i, 0), "");
    }
    PQclear(r);
    return good;
}

bool dump_check_target(const char *tool, const char *conninfo, bool replace) {
    struct dump d = { .tool = tool };
    bool good = dump_connect(&d, conninfo) && check_target(&d, replace);

    dump_end(&d);
    return good;
}

/* The schema that the database has gets another name until the end. */
static bool load_files(struct dump *d, const struct dump *backup, const char *dir, int64_t rows) {
    const char *args[] = { "-1", "-O", "-x", "-w", "-d", "service=pgdisque", dir, NULL };

    if (!dump_do(d, sql_dump_put_aside))
        return false;
    if (run_client(d, "pg_restore", args, rows) && compare_tables(backup, d))
        return dump_do(d, sql_dump_keep);
    (void)dump_do(d, sql_dump_undo);
    return false;
}

bool dump_load(const char *tool, const char *conninfo, const char *dir, bool replace,
               struct dump_report *out) {
    struct dump backup = { .tool = tool }, d = { .tool = tool };
    bool good = read_figures_of(&backup, dir);

    if (good)
        dump_sum(&backup, out);
    good = good && dump_connect(&d, conninfo) && dump_do(&d, sql_dump_lock) && check_target(&d, replace) &&
           load_files(&d, &backup, dir, out->rows);
    dump_end(&d);
    dump_end(&backup);
    return good;
}

char *dump_name_database(const char *tool, const char *conninfo) {
    struct dump d = { .tool = tool };
    char *name = NULL;

    if (dump_connect(&d, conninfo))
        name = xasprintf("%s:%s/%s", PQhost(d.conn), PQport(d.conn), PQdb(d.conn));
    dump_end(&d);
    return name;
}
