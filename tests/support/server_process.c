/* A pgdisque process under test. */
#include "server_process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wait.h"
#include "wire.h"

/* Below the range from which outgoing connections get theirs. */
#define FIRST_PORT 15000
#define PORTS 15000
#define START_MS 20000
#define STOP_MS 10000
#define MAX_SERVERS 64

static char logs[MAX_SERVERS][PATH_SIZE];
static int log_count;
static bool crashed;

static bool port_is_free(int port) {
    struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok;

    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ok = fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

int server_free_port(void) {
    static unsigned next;

    /* Programs that run at the same time take their ports in turn, because a port that is free now may be taken a
     * moment later. */
    if (!next)
        next = (unsigned)getpid() * MAX_SERVERS;
    for (int i = 0; i < PORTS; i++) {
        int port = FIRST_PORT + (int)(next++ % PORTS);

        if (port_is_free(port))
            return port;
    }
    die("no free port");
}

const char *server_program(void) {
    static char path[PATH_SIZE];
    const char *env = getenv("PGDISQUE");
    ssize_t len;
    char *build;

    if (env && *env)
        return env;
    if (access("./pgdisque", X_OK) == 0)
        return "./pgdisque";
    len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[len > 0 ? len : 0] = '\0';
    build = strstr(path, "/build/");
    if (build && build + sizeof("/pgdisque") < path + sizeof(path))
        strcpy(build, "/pgdisque");
    if (access(path, X_OK) != 0)
        die("no ./pgdisque; build it, or set PGDISQUE");
    return path;
}

static void set_options(struct server *s, const char *const *options) {
    int n = 0;

    for (; options && options[n]; n++) {
        if (n == SERVER_MAX_OPTIONS - 1)
            die("too many server options");
        s->options[n] = options[n];
    }
    s->options[n] = NULL;
}

static void run(struct server *s) {
    char port[16];
    const char *argv[SERVER_MAX_OPTIONS + 18];
    gid_t gid;
    uid_t uid = unprivileged_uid(&gid);
    int n = 0;

    snprintf(port, sizeof(port), "%d", s->port);
    argv[n++] = server_program();
    argv[n++] = "--port", argv[n++] = port;
    argv[n++] = "--bind", argv[n++] = "127.0.0.1";
    argv[n++] = "--dir", argv[n++] = s->dir;
    argv[n++] = "--loglevel", argv[n++] = "verbose";
    argv[n++] = "--enable-debug-command", argv[n++] = "local";
    argv[n++] = "--database", argv[n++] = s->database;
    /* The user that may enter the directory of the throwaway Postgres. */
    if (uid)
        argv[n++] = "--user", argv[n++] = getpwuid(uid)->pw_name;
    for (int i = 0; s->options[i]; i++)
        argv[n++] = s->options[i];
    argv[n] = NULL;
    s->pid =
        spawn(&(struct spawn){ .argv = argv, .log = s->log, .death_signal = SIGKILL, .files = s->files });
}

void server_spawn_limited(struct server *s, const char *database, const char *const *options,
                          unsigned files) {
    int number = log_count;

    if (log_count == MAX_SERVERS)
        die("too many servers");
    memset(s, 0, sizeof(*s));
    s->port = server_free_port();
    s->database = database;
    s->files = files;
    set_options(s, options);
    path_join(s->dir, "%s/server%d", scratch_dir(), number);
    path_join(s->log, "%s/server%d.log", scratch_dir(), number);
    if (mkdir(s->dir, 0755) != 0)
        die("%s: %s", s->dir, strerror(errno));
    strcpy(logs[log_count++], s->log);
    run(s);
}

/* The first line of the reply to the command, or an empty text. */
static const char *ask_once(const struct server *s, const char *command) {
    static char line[128];
    struct wire w;

    line[0] = '\0';
    if (!wire_try_open(&w, s->port))
        return line;
    wire_send_text(&w, command);
    if (!wire_read_line(&w, line, sizeof(line), 2000))
        line[0] = '\0';
    wire_close(&w);
    return line;
}

const char *server_ping(const struct server *s) {
    return ask_once(s, "PING\r\n");
}

void server_spawn(struct server *s, const char *database, const char *const *options) {
    server_spawn_limited(s, database, options, 0);
}

static void wait_loaded(struct server *s) {
    const char *last = "";

    if (WAIT_UNTIL(!server_running(s) || strcmp(last = server_ping(s), "+PONG") == 0, START_MS) && s->pid)
        return;
    servers_show_logs();
    die("the server on port %d %s; PING answers '%s'", s->port, s->pid ? "never got ready" : "ended", last);
}

/* QLEN waits for the first count of the jobs. */
static bool has_counted(const struct server *s) {
    const char *line = ask_once(s, "QLEN ready\r\n");

    return line[0] != '\0' && strncmp(line, "-LOADING", 8) != 0;
}

void server_wait_ready(struct server *s) {
    wait_loaded(s);
    if (!WAIT_UNTIL(has_counted(s), START_MS))
        die("the server on port %d does not end its count", s->port);
}

void server_start(struct server *s, const char *database, const char *const *options) {
    server_spawn(s, database, options);
    server_wait_ready(s);
}

void server_resume_uncounted(struct server *s) {
    run(s);
    wait_loaded(s);
}

void server_resume(struct server *s) {
    run(s);
    server_wait_ready(s);
}

int server_stop(struct server *s) {
    int status;

    if (!s->pid)
        return 0;
    kill(s->pid, SIGTERM);
    status = wait_exit(s->pid, STOP_MS);
    s->pid = 0;
    if (status != 0)
        crashed = true;
    return status;
}

void server_kill(struct server *s) {
    if (!s->pid)
        return;
    kill(s->pid, SIGKILL);
    wait_exit(s->pid, STOP_MS);
    s->pid = 0;
}

void server_freeze(const struct server *s) {
    int status;

    if (kill(s->pid, SIGSTOP) != 0 || waitpid(s->pid, &status, WUNTRACED) != s->pid || !WIFSTOPPED(status))
        die("the server does not stop");
}

void server_thaw(const struct server *s) {
    if (s->pid != 0)
        kill(s->pid, SIGCONT);
}

bool server_running(struct server *s) {
    int status;

    if (!s->pid)
        return false;
    if (!has_ended(s->pid, &status))
        return true;
    if (status != 0)
        crashed = true;
    s->pid = 0;
    return false;
}

long server_memory(const struct server *s) {
    char path[PATH_SIZE];
    long pages = 0;
    FILE *f;

    path_join(path, "/proc/%d/statm", (int)s->pid);
    f = fopen(path, "r");
    if (!f || fscanf(f, "%*s %ld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

void servers_show_logs(void) {
    for (int i = 0; i < log_count; i++)
        show_tail(logs[i], strrchr(logs[i], '/') + 1);
}

bool servers_complained(void) {
    bool bad = crashed;

    for (int i = 0; i < log_count; i++)
        bad = bad || file_contains(logs[i], "runtime error:") || file_contains(logs[i], "Sanitizer:");
    return bad;
}
