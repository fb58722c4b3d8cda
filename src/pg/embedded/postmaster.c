/* The embedded Postgres: start, restart after its death, stop. */
#include "pg/embedded/postmaster.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <libpq-fe.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "pg/db.h"
#include "pg/embedded/datadir.h"
#include "pg/embedded/pg_binaries.h"

/* Postgres cannot work with less free space on its disk. */
#define ROOM_BYTES 65536
#define BACKOFF_MIN_MS 100
#define BACKOFF_MAX_MS 5000
/* After a run of this length the next restart has the smallest delay again. */
#define STEADY_MS 10000
#define FAST_STOP_MS 10000
#define HARD_STOP_MS 10000

/* conf/embedded-postgresql.conf sets this port, and with it the socket's name. */
#define PORT "5432"
#define SOCKET_NAME "/.s.PGSQL." PORT
/* The longest directory name with which the socket's path fits into a socket address. */
#define SOCKET_DIR_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - sizeof(SOCKET_NAME))

static struct {
    struct datadir dir;
    struct pg_binaries proc;
    pid_t pid;          /* 0: none runs */
    int backoff_ms;     /* delay before the next start, if Postgres dies soon */
    int64_t started_us; /* clock_mono_now() */
    off_t log_start;    /* offset in postgres.log at which this run begins */
    struct event *on_child;
    struct event *on_restart;
    struct event *on_minute; /* checks the size of the log */
    char *conninfo;
} embedded = { .dir = { .base_fd = -1, .fd = -1, .lock_fd = -1, .log_fd = -1 } };

/* The directory of the socket, for libpq. libpq takes a path with a comma for a list of hosts. If the path has a comma,
 * is too long for a socket address, or leads through a directory that is closed to the user, the result names the open
 * directory in /proc. */
static char *socket_dir(void) {
    const char *path = embedded.dir.path;
    struct stat st;

    if (strlen(path) <= SOCKET_DIR_MAX && !strchr(path, ',') &&
        pg_binary_stat(&embedded.proc, path, &st) == 0)
        return xstrdup(path);
    return xasprintf("/proc/self/fd/%d", embedded.dir.fd);
}

/* Sets hostaddr to "", because PGHOSTADDR in the environment would name another host. */
static char *make_conninfo(const char *dir) {
    char quoted[2 * SOCKET_DIR_MAX + 1];
    size_t len = 0;

    for (const char *c = dir; *c && len < sizeof quoted - 2; c++) {
        if (*c == '\'' || *c == '\\')
            quoted[len++] = '\\';
        quoted[len++] = *c;
    }
    quoted[len] = '\0';
    return xasprintf("host='%s' hostaddr='' port=" PORT " user=pgdisque dbname=postgres", quoted);
}

/* The death signal is SIGINT, Postgres' fast shutdown: sessions end, and a checkpoint is written. */
static bool run_postgres(void) {
    static const char *const args[] = { NULL };

    embedded.log_start = datadir_log_size(&embedded.dir);
    embedded.started_us = clock_mono_now();
    embedded.pid = pg_binary_start(&embedded.proc, &(struct pg_binary_start){ .program = "postgres",
                                                                              .args = args,
                                                                              .dir = embedded.dir.path,
                                                                              .dir_fd = embedded.dir.fd,
                                                                              .log_fd = embedded.dir.log_fd,
                                                                              .death_signal = SIGINT });
    if (embedded.pid > 0) {
        log_notice("postgres", "Postgres %d starts as process %d%s%s, log in %s", embedded.proc.major,
                   (int)embedded.pid, embedded.proc.change_user ? " of user " : "", embedded.proc.user,
                   embedded.dir.log);
        return true;
    }
    embedded.pid = 0;
    return false;
}

static int next_backoff_ms(void) {
    int ms = embedded.backoff_ms;

    if (clock_mono_now() - embedded.started_us >= STEADY_MS * US_PER_MS)
        ms = BACKOFF_MIN_MS;
    embedded.backoff_ms = 2 * ms < BACKOFF_MAX_MS ? 2 * ms : BACKOFF_MAX_MS;
    return ms;
}

static void restart_later(int ms) {
    struct timeval delay = { ms / 1000, ms % 1000 * 1000 };

    evtimer_add(embedded.on_restart, &delay);
}

static void restart(evutil_socket_t fd, short what, void *arg) {
    int error;

    (void)fd, (void)what, (void)arg;
    if (run_postgres())
        return;
    error = errno;
    log_warning("postgres", "cannot start Postgres: %s; trying again", strerror(error));
    restart_later(next_backoff_ms());
}

/* SIGCHLD reports the end of any child. This function reaps only the postmaster. */
static void child_ended(evutil_socket_t fd, short what, void *arg) {
    pid_t pid = embedded.pid;
    char how[64], words[400];
    int status;
    int ms;

    (void)fd, (void)what, (void)arg;
    if (!pid || !pg_binary_wait(pid, 0, &status))
        return;
    embedded.pid = 0;
    ms = next_backoff_ms();
    log_warning("postgres", "process %d %s; starting Postgres again in %d ms", (int)pid,
                pg_binary_status_text(status, how, sizeof(how)), ms);
    datadir_show_log(&embedded.dir, embedded.log_start);
    if (datadir_last_words(&embedded.dir, embedded.log_start, words, sizeof(words)))
        db_note_cause(words);
    restart_later(ms);
}

static void rotate_log(evutil_socket_t fd, short what, void *arg) {
    (void)fd, (void)what, (void)arg;
    if (datadir_rotate_log(&embedded.dir))
        embedded.log_start = 0;
}

static void free_event(struct event **event) {
    if (*event)
        event_free(*event);
    *event = NULL;
}

static void postmaster_forget_all(void) {
    free_event(&embedded.on_child);
    free_event(&embedded.on_restart);
    free_event(&embedded.on_minute);
    pg_binary_free(&embedded.proc);
    datadir_close(&embedded.dir);
    free(embedded.conninfo);
    embedded.conninfo = NULL;
}

static bool postmaster_prepare(char *err, size_t err_size) {
    int major;

    return pg_binary_choose_user(&embedded.proc, err, err_size) &&
           datadir_open(&embedded.dir, &embedded.proc, err, err_size) &&
           datadir_major(&embedded.dir, &major, err, err_size) &&
           pg_binary_find(&embedded.proc, major, err, err_size) &&
           datadir_prepare(&embedded.dir, &embedded.proc, err, err_size);
}

/* Call it before the first child starts, so that no end of a child is missed. */
static bool watch_children(struct event_base *base) {
    static const struct timeval minute = { 60, 0 };

    embedded.on_child = evsignal_new(base, SIGCHLD, child_ended, NULL);
    embedded.on_restart = evtimer_new(base, restart, NULL);
    embedded.on_minute = event_new(base, -1, EV_PERSIST, rotate_log, NULL);
    return embedded.on_child && embedded.on_restart && embedded.on_minute &&
           evsignal_add(embedded.on_child, NULL) == 0 && event_add(embedded.on_minute, &minute) == 0;
}

static bool postmaster_try_start(struct event_base *base, char *err, size_t err_size) {
    char *dir;

    if (!watch_children(base))
        return pg_binary_fail(err, err_size, "cannot watch for the end of child processes");
    if (!postmaster_prepare(err, err_size))
        return false;
    dir = socket_dir();
    embedded.conninfo = make_conninfo(dir);
    free(dir);
    rotate_log(-1, 0, NULL);
    embedded.backoff_ms = BACKOFF_MIN_MS;
    if (!run_postgres())
        return pg_binary_fail(err, err_size, "cannot start Postgres: %s", strerror(errno));
    return true;
}

bool postmaster_start(struct event_base *base, char *err, size_t err_size) {
    if (postmaster_try_start(base, err, err_size))
        return true;
    postmaster_forget_all();
    return false;
}

char *postmaster_visit(void) {
    char *path = xasprintf("%s/postgres", config.dir), *dir = realpath(path, NULL);
    char *conninfo = dir == NULL ? NULL : make_conninfo(dir);

    free(path);
    free(dir);
    if (conninfo != NULL && PQping(conninfo) == PQPING_OK)
        return conninfo;
    free(conninfo);
    return NULL;
}

bool postmaster_note_moved(const char *to, char *err, size_t err_size) {
    return datadir_note_moved(&embedded.dir, to, err, err_size);
}

const char *postmaster_conninfo(void) {
    return embedded.conninfo;
}

pid_t postmaster_pid(void) {
    return embedded.pid;
}

/* Checks the free space itself, because Postgres reports a full disk by many different errors. */
const char *postmaster_trouble(void) {
    static char text[512];
    struct statvfs fs;

    if (embedded.conninfo == NULL || fstatvfs(embedded.dir.fd, &fs) != 0 ||
        fs.f_bavail * fs.f_frsize >= ROOM_BYTES)
        return NULL;
    snprintf(text, sizeof(text), "%s in %.300s", strerror(ENOSPC), embedded.dir.path);
    return text;
}

bool postmaster_is_running(void) {
    return embedded.pid != 0;
}

/* An immediate shutdown (SIGQUIT) loses no committed transaction. The next start recovers from the WAL. */
static void stop_postgres(void) {
    int status;

    kill(embedded.pid, SIGINT);
    if (pg_binary_wait(embedded.pid, FAST_STOP_MS, &status))
        return;
    log_warning("postgres", "process %d takes too long to shut down: ending it at once", (int)embedded.pid);
    kill(embedded.pid, SIGQUIT);
    if (pg_binary_wait(embedded.pid, HARD_STOP_MS, &status))
        return;
    kill(embedded.pid, SIGKILL);
    TEMP_FAILURE_RETRY(waitpid(embedded.pid, &status, 0));
}

void postmaster_stop(void) {
    if (embedded.pid) {
        stop_postgres();
        log_notice("postgres", "process %d has ended", (int)embedded.pid);
        embedded.pid = 0;
    }
    postmaster_forget_all();
}
