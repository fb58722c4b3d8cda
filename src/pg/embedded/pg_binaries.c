/* Finds and starts the programs of Postgres, and selects the user that runs them. */
#include "pg/embedded/pg_binaries.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/system_user.h"
#include "config/config.h"

#define PACKAGES "/usr/lib/postgresql/"
#define POLL_US 5000
#define MAX_ARGS 16
#define EXIT_CANNOT_RUN 126
/* The dynamic linker searches for this library. If it is missing, the linker prints a warning and continues. */
#define NSS_WRAPPER "libnss_wrapper.so"

/* The data directory's descriptor in the child, and its name there. */
#define CHILD_DIR_FD 3
#define CHILD_DIR_PATH "/proc/self/fd/3"
/* Postgres keeps its directory's name in buffers of 1024 bytes. */
#define CHILD_DIR_MAX 900

extern char **environ;

bool pg_binary_fail(char *err, size_t err_size, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(err, err_size, fmt, ap);
    va_end(ap);
    return false;
}

bool pg_binary_choose_user(struct pg_binaries *p, char *err, size_t err_size) {
    struct system_user u;

    if (!system_user_choose(&u, config.user, err, err_size))
        return false;
    if (u.uid == 0)
        return pg_binary_fail(err, err_size, "Postgres does not run as root: name another user with --user");
    p->uid = u.uid;
    p->gid = u.gid;
    p->change_user = u.change;
    snprintf(p->user, sizeof(p->user), "%s", u.name);
    return true;
}

int pg_binary_stat(const struct pg_binaries *p, const char *path, struct stat *st) {
    int error;

    setfsgid(p->gid);
    setfsuid(p->uid);
    error = stat(path, st) == 0 ? 0 : errno;
    setfsuid(geteuid());
    setfsgid(getegid());
    return error;
}

/* ---- search for the programs ---- */

static bool ended_well(pid_t pid) {
    int status;

    return TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static void read_line(int fd, char *out, size_t size) {
    size_t len = 0;
    ssize_t n;

    while ((n = TEMP_FAILURE_RETRY(read(fd, out + len, size - 1 - len))) > 0)
        len += (size_t)n;
    out[len] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

/* Copies the first line that a program prints. False if the program fails or does not exist. */
static bool output_of(const char *program, const char *arg, char *out, size_t size) {
    char *argv[] = { (char *)program, (char *)arg, NULL };
    posix_spawn_file_actions_t actions;
    int fds[2];
    pid_t pid;
    bool started;

    if (pipe2(fds, O_CLOEXEC) != 0)
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    started = posix_spawnp(&pid, program, &actions, NULL, argv, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    read_line(fds[0], out, size);
    close(fds[0]);
    return started && ended_well(pid) && *out;
}

static bool has_program(const char *dir, const char *name) {
    char *path = xasprintf("%s/%s", dir, name);
    bool found = access(path, X_OK) == 0;

    free(path);
    return found;
}

/* The version of a program, by a line such as "postgres (PostgreSQL) 15.4"; 0 if the program does not run. */
static int version_of(const char *dir, const char *program) {
    char *path = xasprintf("%s/%s", dir, program), *format = xasprintf("%s (PostgreSQL) %%d", program);
    char line[256];
    int major = 0;

    if (!output_of(path, "--version", line, sizeof(line)) || sscanf(line, format, &major) != 1)
        major = 0;
    free(format);
    free(path);
    return major;
}

struct search {
    struct pg_binaries *found;
    int major;          /* the wanted version; 0: any version that is new enough */
    int other;          /* the newest version that was found and cannot be used */
    const char *client; /* the search is for this program of version `major` or newer; NULL: for a server */
    char *client_path;  /* the program that was found */
};

static bool try_client(struct search *s, const char *dir) {
    if (version_of(dir, s->client) < s->major)
        return false;
    s->client_path = xasprintf("%s/%s", dir, s->client);
    return true;
}

static bool try_dir(struct search *s, const char *dir) {
    int major = 0;

    if (s->client != NULL)
        return try_client(s, dir);

    if (has_program(dir, "initdb") && has_program(dir, "postgres"))
        major = version_of(dir, "postgres");
    if (major < PGPROC_OLDEST_MAJOR || (s->major && major != s->major)) {
        s->other = major > s->other ? major : s->other;
        return false;
    }
    /* The path must be absolute, because the child has another working directory. */
    s->found->bin_dir = realpath(dir, NULL);
    s->found->major = major;
    return s->found->bin_dir != NULL;
}

static bool try_pg_config(struct search *s) {
    char dir[4096];

    return output_of("pg_config", "--bindir", dir, sizeof(dir)) && try_dir(s, dir);
}

static bool try_path(struct search *s) {
    const char *env = getenv("PATH");
    char *path = xstrdup(env ? env : "");
    char *rest = path;
    bool found = false;

    for (char *dir; !found && (dir = strsep(&rest, ":"));)
        found = *dir && try_dir(s, dir);
    free(path);
    return found;
}

/* Orders by the version in the directory's name, the newest first. */
static int compare_packages(const void *a, const void *b) {
    const char *const *x = a;
    const char *const *y = b;

    return atoi(*y + strlen(PACKAGES)) - atoi(*x + strlen(PACKAGES));
}

static bool try_packages(struct search *s) {
    glob_t dirs = { 0 };
    bool found = false;

    if (glob(PACKAGES "*/bin", 0, NULL, &dirs) != 0)
        return false;
    qsort(dirs.gl_pathv, dirs.gl_pathc, sizeof(*dirs.gl_pathv), compare_packages);
    for (size_t i = 0; !found && i < dirs.gl_pathc; i++)
        found = try_dir(s, dirs.gl_pathv[i]);
    globfree(&dirs);
    return found;
}

static bool search_everywhere(struct search *s) {
    static bool (*const places[])(struct search *) = { try_pg_config, try_path, try_packages };

    for (size_t i = 0; i < LENGTH(places); i++)
        if (places[i](s))
            return true;
    return false;
}

static bool fail_to_find(const struct search *s, char *err, size_t err_size) {
    if (s->other && s->major)
        return pg_binary_fail(
            err, err_size,
            "data directory %s was made by Postgres %d, but the one found here is Postgres %d: "
            "install the package postgresql-%d, or choose another directory with --dir",
            config.dir, s->major, s->other, s->major);
    if (s->other)
        return pg_binary_fail(err, err_size,
                              "the Postgres found here is version %d, but it takes %d or newer", s->other,
                              PGPROC_OLDEST_MAJOR);
    if (*config.postgres_bin)
        return pg_binary_fail(err, err_size, "postgres-bin %s does not hold the programs initdb and postgres",
                              config.postgres_bin);
    return pg_binary_fail(
        err, err_size,
        "found no Postgres server (initdb and postgres) by pg_config, in PATH, or in " PACKAGES
        ": install the package postgresql (apt-get install postgresql), name the programs' "
        "directory with --postgres-bin, or name a database of yours with --database");
}

bool pg_binary_find(struct pg_binaries *p, int major, char *err, size_t err_size) {
    struct search s = { .found = p, .major = major };

    if (*config.postgres_bin ? try_dir(&s, config.postgres_bin) : search_everywhere(&s))
        return true;
    return fail_to_find(&s, err, err_size);
}

char *pg_binary_find_client(const char *program, int major) {
    struct search s = { .major = major, .client = program };

    if (*config.postgres_bin == '\0' || !try_dir(&s, config.postgres_bin))
        (void)search_everywhere(&s);
    return s.client_path;
}

void pg_binary_free(struct pg_binaries *p) {
    free(p->bin_dir);
    p->bin_dir = NULL;
}

/* ---- start; the functions from here to pg_binary_start() run in the child ---- */

_Noreturn static void give_up(const char *what) {
    dprintf(STDERR_FILENO, "cannot run Postgres: %s: %s\n", what, strerror(errno));
    _exit(EXIT_CANNOT_RUN);
}

/* Closes all files except stdin, stdout, stderr and the directory, because an inherited listening socket would keep the
 * port in use. The log is duplicated first, because its descriptor may be CHILD_DIR_FD. */
static void place_files(const struct pg_binary_start *s) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    dup2(s->script_fd != 0 ? s->script_fd : null, STDIN_FILENO);
    dup2(s->script_fd != 0 ? null : s->log_fd, STDOUT_FILENO);
    dup2(s->log_fd, STDERR_FILENO);
    dup2(s->dir_fd, CHILD_DIR_FD);
    /* dup2() of a descriptor onto itself does not clear close-on-exec. */
    fcntl(CHILD_DIR_FD, F_SETFD, 0);
    close_range(CHILD_DIR_FD + 1, ~0U, 0);
}

/* exec() resets handlers, but keeps signals ignored or blocked. */
static void reset_signals(void) {
    sigset_t none;

    for (int sig = 1; sig < NSIG; sig++)
        signal(sig, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The server is the user itself when it starts Postgres again. */
static void become_user(const struct pg_binaries *p) {
    if (geteuid() == p->uid)
        return;
    if (initgroups(p->user, p->gid) != 0 || setresgid(p->gid, p->gid, p->gid) != 0 ||
        setresuid(p->uid, p->uid, p->uid) != 0)
        give_up(p->user);
}

/*
 * Postgres' user may lack access to a parent of the data directory, for example a home directory. The open descriptor
 * gives access to the data directory without root's rights. It also replaces a path that is too long.
 */
static const char *reachable_dir(const char *dir) {
    if (strlen(dir) <= CHILD_DIR_MAX && access(dir, R_OK | W_OK | X_OK) == 0)
        return dir;
    if (access(CHILD_DIR_PATH "/.", R_OK | W_OK | X_OK) != 0) {
        dprintf(STDERR_FILENO, "Postgres' user cannot use %s (%s): choose another directory with --dir\n",
                dir, strerror(errno));
        _exit(EXIT_CANNOT_RUN);
    }
    return CHILD_DIR_PATH;
}

bool pg_binary_has_name(const struct pg_binaries *p) {
    return getpwuid(p->uid) != NULL;
}

/* Some programs fail if their user has no name, for example in containers with an arbitrary user ID. The library
 * nss_wrapper, if it is installed, reads this line instead of /etc/passwd. */
static void lend_name(const struct pg_binaries *p) {
    int fd = memfd_create("passwd", 0);
    char *path = xasprintf("/proc/self/fd/%d", fd);

    if (fd >= 0 && dprintf(fd, "pgdisque:x:%u:%u::/:/bin/sh\n", (unsigned)p->uid, (unsigned)p->gid) > 0) {
        setenv("NSS_WRAPPER_PASSWD", path, 1);
        setenv("NSS_WRAPPER_GROUP", "/etc/group", 1);
        setenv("LD_PRELOAD", NSS_WRAPPER, 1);
    }
    free(path);
}

static void run_program(const struct pg_binaries *p, const struct pg_binary_start *s) {
    char *program = xasprintf("%s/%s", p->bin_dir, s->program);
    const char *argv[MAX_ARGS] = { program };
    size_t argc = 1;

    if (s->mode != NULL)
        argv[argc++] = s->mode;
    argv[argc++] = "-D";
    argv[argc++] = reachable_dir(s->dir);
    for (const char *const *arg = s->args; *arg && argc < MAX_ARGS - 1; arg++)
        argv[argc++] = *arg;
    if (s->needs_name && !pg_binary_has_name(p))
        lend_name(p);
    execv(program, (char *const *)argv);
    give_up(program);
}

_Noreturn static void child_main(const struct pg_binaries *p, const struct pg_binary_start *s, pid_t parent) {
    place_files(s);
    /* Ctrl-C in a terminal must reach the server only; the server stops Postgres at its own end. */
    setsid();
    reset_signals();
    become_user(p);
    /* The change of user clears the death signal, so set it afterwards. The parent may have ended before. */
    if (prctl(PR_SET_PDEATHSIG, s->death_signal) != 0 || getppid() != parent)
        _exit(EXIT_CANNOT_RUN);
    umask(077);
    /* Postgres' programs fail if their user may not enter the working directory. */
    if (chdir("/") != 0)
        give_up("/");
    run_program(p, s);
    _exit(EXIT_CANNOT_RUN);
}

pid_t pg_binary_start(const struct pg_binaries *p, const struct pg_binary_start *s) {
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid == 0)
        child_main(p, s, parent);
    return pid;
}

bool pg_binary_wait(pid_t pid, int ms, int *status) {
    int64_t end = clock_mono_now() + ms * US_PER_MS;

    *status = 0;
    while (TEMP_FAILURE_RETRY(waitpid(pid, status, WNOHANG)) == 0) {
        if (clock_mono_now() >= end)
            return false;
        usleep(POLL_US);
    }
    return true;
}

const char *pg_binary_status_text(int status, char *out, size_t size) {
    if (WIFSIGNALED(status))
        snprintf(out, size, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(out, size, "ended with status %d", WEXITSTATUS(status));
    return out;
}
