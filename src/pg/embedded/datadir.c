/* The directory of the embedded Postgres: its lock, initdb, owner, settings, log. */
#include "pg/embedded/datadir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "pg/embedded/pg_roles.h"
#include "sql_gen.h"

/* The note that the jobs were moved. */
#define MOVED "postgres.moved"
#define DATA "postgres"
#define DATA_TMP "postgres.tmp"
#define CONF "postgresql.conf"
#define CONF_TMP "postgresql.conf.tmp"
#define USER_CONF "postgresql.user.conf"
#define FAST_END_MS 5000
#define HARD_END_MS 10000
#define POLL_US 10000
#define TAIL_BYTES 4096
#define TAIL_LINES 6
#define LOG_MOST_BYTES (16 * 1024 * 1024)

/* Reads the begin of a file as text. False with errno. */
static bool read_text(int dir, const char *name, char *out, size_t size) {
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return false;
    n = TEMP_FAILURE_RETRY(read(fd, out, size - 1));
    close(fd);
    out[n > 0 ? n : 0] = '\0';
    return n >= 0;
}

/*
 * Calls fn for all files below name in the directory parent, then for name itself. Uses descriptors instead of paths,
 * because this process may be root, and another user may replace a directory by a symbolic link.
 */
static bool tree_each(int parent, const char *name, bool (*fn)(int, const char *, bool, const void *),
                      const void *arg) {
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct dirent *entry;
    bool ok = true;
    DIR *dir;

    if (fd < 0)
        return (errno == ENOTDIR || errno == ELOOP) && fn(parent, name, false, arg);
    dir = fdopendir(fd);
    while (ok && dir && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            ok = tree_each(fd, entry->d_name, fn, arg);
    if (dir)
        closedir(dir);
    return ok && fn(parent, name, true, arg);
}

static bool remove_entry(int parent, const char *name, bool is_dir, const void *arg) {
    (void)arg;
    return unlinkat(parent, name, is_dir ? AT_REMOVEDIR : 0) == 0;
}

static bool give_entry(int parent, const char *name, bool is_dir, const void *arg) {
    const struct pg_binaries *p = arg;

    (void)is_dir;
    return fchownat(parent, name, p->uid, p->gid, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- directory, lock, log ---- */

static bool open_base(struct datadir *d, char *err, size_t err_size) {
    /* Mode 0711 lets Postgres' user pass through, but hides the content from other users. */
    if (mkdir(config.dir, 0711) != 0 && errno != EEXIST)
        return pg_binary_fail(err, err_size, "cannot make directory %s: %s", config.dir, strerror(errno));
    d->base_fd = open(config.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->base_fd < 0 || (d->base = realpath(config.dir, NULL)) == NULL)
        return pg_binary_fail(err, err_size, "cannot use directory %s: %s", config.dir, strerror(errno));
    d->path = xasprintf("%s/" DATA, d->base);
    d->log = xasprintf("%s/postgres.log", d->base);
    return true;
}

static bool fail_locked(const struct datadir *d, char *err, size_t err_size) {
    char text[32] = "";

    if (!read_text(d->base_fd, "pgdisque.lock", text, sizeof(text)) || atoi(text) <= 0)
        return pg_binary_fail(err, err_size,
                              "data directory %s is in use by another process; choose another with --dir",
                              d->base);
    return pg_binary_fail(err, err_size,
                          "data directory %s is in use by process %d; choose another with --dir", d->base,
                          atoi(text));
}

/* Gives a file of config.dir to the user that the server becomes, because later servers may start as this user. The
 * user could make a hard link to a file of another owner, so files with more than one name stay as they are. */
static void give_file(const struct datadir *d, const struct pg_binaries *p, int fd, const char *name) {
    struct stat st;

    if (!p->change_user || fstat(fd, &st) != 0 || st.st_uid == p->uid)
        return;
    if (st.st_nlink != 1 || fchown(fd, p->uid, p->gid) != 0)
        log_warning("embedded", "cannot give the file %s/%s to user %s: %s", d->base, name, p->user,
                    st.st_nlink == 1 ? strerror(errno) : "it has several names");
}

/* The user is this process' own, because another user could not start the server. */
static bool fail_open(const struct datadir *d, const char *name, char *err, size_t err_size) {
    int error = errno;
    const struct passwd *pw = getpwuid(geteuid());

    if (error != EACCES || faccessat(d->base_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        return pg_binary_fail(err, err_size, "cannot open %s/%s: %s; choose another directory with --dir",
                              d->base, name, strerror(error));
    return pg_binary_fail(err, err_size,
                          "cannot open %s/%s: %s; give the file to user %s (uid %u), or choose another "
                          "directory with --dir",
                          d->base, name, strerror(error), pw == NULL ? "without a name" : pw->pw_name,
                          (unsigned)geteuid());
}

/*
 * The file stays when the lock is released. If it were removed, two servers could lock two files of this name. Only the
 * owner may open the file, because any process that can open a file can lock it.
 */
static bool take_lock(struct datadir *d, const struct pg_binaries *p, char *err, size_t err_size) {
    d->lock_fd = openat(d->base_fd, "pgdisque.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (d->lock_fd < 0)
        return fail_open(d, "pgdisque.lock", err, err_size);
    if (flock(d->lock_fd, LOCK_EX | LOCK_NB) != 0)
        return fail_locked(d, err, err_size);
    if (fchmod(d->lock_fd, 0600) != 0)
        log_warning("embedded", "cannot restrict the file %s/pgdisque.lock to its owner: %s", d->base,
                    strerror(errno));
    if (ftruncate(d->lock_fd, 0) != 0 || dprintf(d->lock_fd, "%d\n", (int)getpid()) < 0)
        return pg_binary_fail(err, err_size, "cannot write %s/pgdisque.lock: %s", d->base, strerror(errno));
    give_file(d, p, d->lock_fd, "pgdisque.lock");
    return true;
}

pid_t datadir_holder(void) {
    char *path = xasprintf("%s/pgdisque.lock", config.dir), text[32] = "";
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    pid_t holder = 0;

    free(path);
    if (fd < 0)
        return 0;
    if (flock(fd, LOCK_SH | LOCK_NB) != 0 && pread(fd, text, sizeof text - 1, 0) > 0)
        holder = atoi(text);
    close(fd);
    return holder;
}

bool datadir_note_moved(const struct datadir *d, const char *to, char *err, size_t err_size) {
    int fd = openat(d->base_fd, MOVED, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    bool good = fd >= 0 && dprintf(fd, "%s\n", to) > 0 && fsync(fd) == 0 && fsync(d->base_fd) == 0;

    if (!good)
        pg_binary_fail(err, err_size, "cannot write %s/" MOVED ": %s", d->base, strerror(errno));
    if (fd >= 0)
        close(fd);
    return good;
}

static bool refuse_moved(const struct datadir *d, char *err, size_t err_size) {
    char to[300] = "";

    if (!read_text(d->base_fd, MOVED, to, sizeof to) || to[0] == '\0')
        return true;
    to[strcspn(to, "\n")] = '\0';
    return pg_binary_fail(err, err_size,
                          "the jobs of %s were moved to %s: set the option database. The file %s/" MOVED
                          " says so; without it a server delivers the old jobs again",
                          d->path, to, d->base);
}

bool datadir_open(struct datadir *d, const struct pg_binaries *p, char *err, size_t err_size) {
    *d = PGDIR_CLOSED;
    if (!open_base(d, err, err_size) || !take_lock(d, p, err, err_size) || !refuse_moved(d, err, err_size))
        return false;
    d->log_fd =
        openat(d->base_fd, "postgres.log", O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (d->log_fd < 0)
        return fail_open(d, "postgres.log", err, err_size);
    give_file(d, p, d->log_fd, "postgres.log");
    return true;
}

static void close_fd(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void datadir_close(struct datadir *d) {
    close_fd(&d->log_fd);
    close_fd(&d->fd);
    close_fd(&d->lock_fd);
    close_fd(&d->base_fd);
    free(d->base);
    free(d->path);
    free(d->log);
    *d = PGDIR_CLOSED;
}

/* ---- data directory ---- */

/* An empty directory is accepted, because it may be a mount point. */
static bool is_empty_dir(const struct datadir *d) {
    int fd = openat(d->base_fd, DATA, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    int entries = 0;

    if (!dir)
        return false;
    while (readdir(dir))
        entries++;
    closedir(dir);
    return entries <= 2;
}

bool datadir_major(const struct datadir *d, int *major, char *err, size_t err_size) {
    char text[32];

    *major = 0;
    if (read_text(d->base_fd, DATA "/PG_VERSION", text, sizeof(text))) {
        *major = atoi(text);
        if (*major > 0)
            return true;
        return pg_binary_fail(err, err_size,
                              "%s/PG_VERSION holds no version; choose another directory with --dir", d->path);
    }
    if (errno != ENOENT)
        return pg_binary_fail(err, err_size, "cannot read %s: %s; choose another directory with --dir",
                              d->path, strerror(errno));
    if (faccessat(d->base_fd, DATA, F_OK, 0) == 0 && !is_empty_dir(d))
        return pg_binary_fail(err, err_size,
                              "%s holds files, but no Postgres data; choose another directory with --dir",
                              d->path);
    return true;
}

static bool open_data(struct datadir *d, const char *name, char *err, size_t err_size) {
    close_fd(&d->fd);
    d->fd = openat(d->base_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (d->fd < 0)
        return pg_binary_fail(err, err_size, "cannot open %s/%s: %s", d->base, name, strerror(errno));
    return true;
}

/* Makes the temporary directory for initdb. An interrupted initdb leaves only this directory, because make_data()
 * renames it at the end. */
static bool make_tmp(struct datadir *d, const struct pg_binaries *p, char *err, size_t err_size) {
    if (faccessat(d->base_fd, DATA_TMP, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        log_notice("postgres", "an earlier initdb in %s did not finish: starting over", d->base);
        if (!tree_each(d->base_fd, DATA_TMP, remove_entry, NULL))
            return pg_binary_fail(err, err_size, "cannot remove %s/" DATA_TMP ": %s", d->base,
                                  strerror(errno));
    }
    if (mkdirat(d->base_fd, DATA_TMP, 0700) != 0)
        return pg_binary_fail(err, err_size, "cannot make %s/" DATA_TMP ": %s", d->base, strerror(errno));
    if (p->change_user && !give_entry(d->base_fd, DATA_TMP, true, p))
        return pg_binary_fail(err, err_size,
                              "cannot give %s/" DATA_TMP " to user %s: %s; choose another --dir", d->base,
                              p->user, strerror(errno));
    return open_data(d, DATA_TMP, err, err_size);
}

/* Only its owner can use the socket, so local connections need no password. Connections by TCP are rejected, even if a
 * user setting adds listen_addresses. */
static bool run_initdb(const struct datadir *d, const struct pg_binaries *p, const char *path, char *err,
                       size_t err_size) {
    static const char *const args[] = { "--encoding=UTF8",
                                        "--locale=C",
                                        "--username=pgdisque_superuser",
                                        "--auth-local=trust",
                                        "--auth-host=reject",
                                        "--data-checksums",
                                        "--no-instructions",
                                        NULL };
    off_t log_start = datadir_log_size(d);
    char how[64];
    int status = 0;
    pid_t pid = pg_binary_start(p, &(struct pg_binary_start){ .program = "initdb",
                                                              .args = args,
                                                              .dir = path,
                                                              .dir_fd = d->fd,
                                                              .log_fd = d->log_fd,
                                                              .needs_name = true,
                                                              .death_signal = SIGKILL });

    if (pid < 0)
        return pg_binary_fail(err, err_size, "cannot run initdb: %s", strerror(errno));
    if (TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    datadir_show_log(d, log_start);
    if (!pg_binary_has_name(p))
        return pg_binary_fail(
            err, err_size,
            "initdb needs a name for user ID %u, which has none on this system: install the "
            "package libnss-wrapper, or give the user a line in /etc/passwd",
            (unsigned)p->uid);
    return pg_binary_fail(err, err_size, "initdb %s; its output is in %s",
                          pg_binary_status_text(status, how, sizeof(how)), d->log);
}

static bool make_data(struct datadir *d, const struct pg_binaries *p, char *err, size_t err_size) {
    char *path = xasprintf("%s/" DATA_TMP, d->base);
    bool ok = make_tmp(d, p, err, err_size);

    if (ok)
        log_notice("postgres", "making a database in %s with initdb of Postgres %d", d->path, p->major);
    ok = ok && run_initdb(d, p, path, err, err_size) && pg_roles_make(d, p, path, err, err_size);
    free(path);
    if (!ok)
        return false;
    if (renameat(d->base_fd, DATA_TMP, d->base_fd, DATA) != 0 || fsync(d->base_fd) != 0)
        return pg_binary_fail(err, err_size, "cannot rename %s/" DATA_TMP ": %s", d->base, strerror(errno));
    return true;
}

/* ---- Postgres of an earlier server ---- */

enum holder { HOLDER_NONE, HOLDER_POSTMASTER, HOLDER_OTHER, HOLDER_UNKNOWN };

static pid_t recorded_pid(const struct datadir *d) {
    char text[32] = "";

    if (!read_text(d->fd, "postmaster.pid", text, sizeof(text)))
        return 0;
    return (pid_t)atoi(text);
}

/* The working directory of a process. Reading it needs the same user or CAP_SYS_PTRACE. root lacks CAP_SYS_PTRACE in
 * containers, so this function takes the user of Postgres. */
static int stat_cwd(const struct pg_binaries *p, pid_t pid, struct stat *st) {
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
    return pg_binary_stat(p, path, st);
}

static bool is_postgres(pid_t pid) {
    char path[64], name[32] = "";

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    return read_text(AT_FDCWD, path, name, sizeof(name)) &&
           (strcmp(name, "postgres\n") == 0 || strcmp(name, "postmaster\n") == 0);
}

/* A postmaster's working directory is its data directory. */
static enum holder who_is(const struct datadir *d, const struct pg_binaries *p, pid_t pid) {
    struct stat cwd, own;
    int error;

    if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH))
        return HOLDER_NONE;
    if (!is_postgres(pid))
        return HOLDER_OTHER;
    error = stat_cwd(p, pid, &cwd);
    /* A zombie process has no working directory. */
    if (error == ENOENT)
        return HOLDER_OTHER;
    if (error || fstat(d->fd, &own) != 0)
        return HOLDER_UNKNOWN;
    return cwd.st_dev == own.st_dev && cwd.st_ino == own.st_ino ? HOLDER_POSTMASTER : HOLDER_OTHER;
}

static bool wait_gone(const struct datadir *d, const struct pg_binaries *p, pid_t pid, int ms) {
    int64_t end = clock_mono_now() + ms * US_PER_MS;

    while (who_is(d, p, pid) == HOLDER_POSTMASTER) {
        if (clock_mono_now() >= end)
            return false;
        usleep(POLL_US);
    }
    return true;
}

static bool end_leftover(const struct datadir *d, const struct pg_binaries *p, pid_t pid, char *err,
                         size_t err_size) {
    log_notice("postgres",
               "the Postgres of an earlier server, process %d, still runs in %s: waiting for its end",
               (int)pid, d->path);
    kill(pid, SIGINT);
    if (wait_gone(d, p, pid, FAST_END_MS))
        return true;
    log_warning("postgres", "process %d takes too long to shut down: ending it at once", (int)pid);
    kill(pid, SIGQUIT);
    if (wait_gone(d, p, pid, HARD_END_MS))
        return true;
    return pg_binary_fail(err, err_size,
                          "Postgres process %d runs in %s and does not end; choose another with --dir",
                          (int)pid, d->path);
}

/*
 * After a crash postmaster.pid may name a new process that is not Postgres. This is common in containers, where process
 * IDs repeat from start to start. Postgres would refuse to start. The server's lock and the working directory of the
 * process show that no postmaster runs. Postgres itself detects surviving children of the dead one by their shared
 * memory.
 */
static void forget_pid(const struct datadir *d, pid_t pid) {
    log_notice("postgres", "%s/postmaster.pid names process %d, which is not its Postgres: removing it",
               d->path, (int)pid);
    unlinkat(d->fd, ".s.PGSQL.5432.lock", 0);
    unlinkat(d->fd, "postmaster.pid", 0);
}

static bool clear_leftover(const struct datadir *d, const struct pg_binaries *p, char *err, size_t err_size) {
    pid_t pid = recorded_pid(d);
    enum holder holder = who_is(d, p, pid);

    if (holder == HOLDER_POSTMASTER)
        return end_leftover(d, p, pid, err, err_size);
    if (holder == HOLDER_OTHER)
        forget_pid(d, pid);
    return true;
}

/* ---- owner and settings ---- */

static bool take_ownership(const struct datadir *d, const struct pg_binaries *p, char *err, size_t err_size) {
    struct stat st;

    if (fstat(d->fd, &st) == 0 && st.st_uid == p->uid)
        return true;
    if (!p->change_user)
        return pg_binary_fail(
            err, err_size,
            "%s belongs to another user (uid %d): start the server as that user, or choose another "
            "directory with --dir",
            d->path, (int)st.st_uid);
    log_notice("postgres", "giving %s to user %s", d->path, p->user);
    if (tree_each(d->base_fd, DATA, give_entry, p))
        return true;
    return pg_binary_fail(err, err_size, "cannot give %s to user %s: %s; choose another directory with --dir",
                          d->path, p->user, strerror(errno));
}

static bool datadir_write_all(int fd, const char *text, size_t len) {
    while (len) {
        ssize_t n = TEMP_FAILURE_RETRY(write(fd, text, len));

        if (n < 0)
            return false;
        text += n;
        len -= (size_t)n;
    }
    return true;
}

/* Uses O_EXCL, because the directory belongs to Postgres' user, who could place a link for root to follow. */
bool datadir_write_new(const struct datadir *d, const struct pg_binaries *p, const char *name,
                       const char *text) {
    int fd = openat(d->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok;

    if (fd < 0)
        return false;
    ok = datadir_write_all(fd, text, strlen(text)) && (!p->change_user || fchown(fd, p->uid, p->gid) == 0) &&
         fsync(fd) == 0;
    close(fd);
    return ok;
}

static bool write_conf(const struct datadir *d, const struct pg_binaries *p) {
    /* wal_compression accepts lz4 since Postgres 15. */
    char *conf = xasprintf("wal_compression = %s\n%s", p->major < 15 ? "on" : "lz4", embedded_conf);
    bool ok;
    static const char hint[] = "# Your own settings for this Postgres; they win over those in " CONF ".\n";

    ok = datadir_write_new(d, p, USER_CONF, hint) || errno == EEXIST;
    unlinkat(d->fd, CONF_TMP, 0);
    ok = ok && datadir_write_new(d, p, CONF_TMP, conf) && renameat(d->fd, CONF_TMP, d->fd, CONF) == 0;
    free(conf);
    return ok;
}

bool datadir_prepare(struct datadir *d, const struct pg_binaries *p, char *err, size_t err_size) {
    int major;

    if (!datadir_major(d, &major, err, err_size) || (!major && !make_data(d, p, err, err_size)))
        return false;
    if (!open_data(d, DATA, err, err_size) || !clear_leftover(d, p, err, err_size) ||
        !take_ownership(d, p, err, err_size))
        return false;
    if (!write_conf(d, p))
        return pg_binary_fail(err, err_size, "cannot write %s/" CONF ": %s", d->path, strerror(errno));
    return pg_roles_make(d, p, d->path, err, err_size);
}

/* ---- log ---- */

off_t datadir_log_size(const struct datadir *d) {
    struct stat st;

    return fstat(d->log_fd, &st) == 0 ? st.st_size : 0;
}

static bool copy_all(int from, int to, off_t size) {
    off_t at = 0;

    while (at < size) {
        ssize_t n = TEMP_FAILURE_RETRY(sendfile(to, from, &at, (size_t)(size - at)));

        if (n <= 0)
            return false;
    }
    return true;
}

/* Copies and truncates the file, because Postgres keeps it open. Postgres appends, so it continues at the new end. A
 * line that it writes between the copy and the truncation is lost. */
bool datadir_rotate_log(const struct datadir *d) {
    off_t size = datadir_log_size(d);
    bool emptied;
    int old;

    if (size < LOG_MOST_BYTES)
        return false;
    old = openat(d->base_fd, "postgres.log.1", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (old < 0)
        log_warning("postgres", "cannot write postgres.log.1 in %s: %s; the old lines of its log are lost",
                    d->base, strerror(errno));
    emptied = (old < 0 || copy_all(d->log_fd, old, size)) && ftruncate(d->log_fd, 0) == 0;
    if (old >= 0)
        close(old);
    return emptied;
}

/* The begin of the last lines of the text. */
static char *last_lines(char *text, size_t len, int lines) {
    char *from = text + len;

    while (from > text && (from[-1] != '\n' || lines-- > 0))
        from--;
    return from;
}

/* Reads at most the last TAIL_BYTES behind offset since. */
static size_t read_tail(const struct datadir *d, off_t since, char text[TAIL_BYTES + 1]) {
    off_t size = datadir_log_size(d);
    off_t from = size - since > TAIL_BYTES ? size - TAIL_BYTES : since;
    ssize_t n = pread(d->log_fd, text, TAIL_BYTES, from);

    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

void datadir_show_log(const struct datadir *d, off_t since) {
    char text[TAIL_BYTES + 1];
    size_t len = read_tail(d, since, text);
    char *save = NULL;

    for (char *line = strtok_r(last_lines(text, len, TAIL_LINES), "\n", &save); line;
         line = strtok_r(NULL, "\n", &save))
        log_warning("postgres", "last lines of its log: %s", log_escape(slice_str(line), 500));
}

bool datadir_last_words(const struct datadir *d, off_t since, char *out, size_t size) {
    char text[TAIL_BYTES + 1];
    char *save = NULL;

    out[0] = '\0';
    (void)read_tail(d, since, text);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        const char *words = strstr(line, "PANIC:  ");

        if (words == NULL)
            words = strstr(line, "FATAL:  ");
        /* Keeps a line about a full disk, because the later errors follow from it. */
        if (words != NULL &&
            (strstr(out, strerror(ENOSPC)) == NULL || strstr(words, strerror(ENOSPC)) != NULL))
            snprintf(out, size, "%s", log_escape(slice_str(words + 8), 400));
    }
    return out[0] != '\0';
}
