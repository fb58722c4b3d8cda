/* Reports to a waiting shell or to systemd that the server has started. */
#include "server/ready.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"

/* systemd gets the status so often, or twice in WATCHDOG_USEC if that is shorter. */
#define REPORT_US (10 * US_PER_S)

static struct {
    int pipe;           /* to the waiting process; -1: no process waits */
    int systemd;        /* the connected socket; -1: there is none */
    bool started;       /* ready_tell() was called */
    int64_t report_us;  /* the time between two reports */
    int64_t report_due; /* clock_mono() */
} ready = { .pipe = -1, .systemd = -1 };

/* A byte in the pipe means success. The end of the pipe without a byte means that the daemon has ended. */
static _Noreturn void wait_for_daemon(int pipe) {
    char byte;

    _exit(TEMP_FAILURE_RETRY(read(pipe, &byte, 1)) == 1 ? 0 : 1);
}

static void silence(int first, int last) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = first; null >= 0 && fd <= last; fd++)
        dup2(null, fd);
    if (null >= 0)
        close(null);
}

bool ready_detach(void) {
    int fds[2];
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) != 0)
        return false;
    pid = fork();
    if (pid < 0)
        return false;
    if (pid > 0) {
        close(fds[1]);
        wait_for_daemon(fds[0]);
    }
    close(fds[0]);
    ready.pipe = fds[1];
    silence(STDIN_FILENO, STDIN_FILENO);
    return setsid() >= 0;
}

/* systemd terminates the server after WATCHDOG_USEC without a report. WATCHDOG_PID names the process that must report.
 */
static int64_t report_interval(void) {
    const char *limit = getenv("WATCHDOG_USEC");
    const char *pid = getenv("WATCHDOG_PID");
    long long half = limit == NULL ? 0 : atoll(limit) / 2;

    if (half <= 0 || half > REPORT_US || (pid != NULL && atoll(pid) != getpid()))
        return REPORT_US;
    return half;
}

/* The protocol of sd_notify(3). A name that begins with @ is an abstract socket. */
void ready_open(void) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    size_t len = path == NULL ? 0 : strlen(path);

    if (len < 2 || len >= sizeof sa.sun_path || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(sa.sun_path, path, len);
    if (path[0] == '@')
        sa.sun_path[0] = '\0';
    ready.report_us = report_interval();
    ready.systemd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (ready.systemd >= 0)
        (void)connect(ready.systemd, (struct sockaddr *)&sa,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}

static void notify(const char *state, int flags) {
    if (ready.systemd >= 0)
        (void)send(ready.systemd, state, strlen(state), MSG_NOSIGNAL | flags);
}

/* Sends the state together with the first line of the status, because a further line would be another state. */
static void notify_status(const char *state, const char *status, int flags) {
    char *text = xasprintf("%s\nSTATUS=%.*s", state, (int)strcspn(status, "\r\n"), status);

    notify(text, flags);
    free(text);
}

void ready_tell(const char *status) {
    notify_status("READY=1", status, 0);
    ready.started = true;
    if (ready.pipe < 0)
        return;
    silence(STDOUT_FILENO, STDERR_FILENO);
    if (write(ready.pipe, "", 1) != 1)
        perror("pgdisque");
    close(ready.pipe);
    ready.pipe = -1;
}

bool ready_report_due(void) {
    return ready.started && ready.systemd >= 0 && clock_mono() >= ready.report_due;
}

void ready_report(const char *status) {
    ready.report_due = clock_mono() + ready.report_us;
    /* The event loop does not wait for systemd. The next report replaces a lost one. */
    notify_status("WATCHDOG=1", status, MSG_DONTWAIT);
}

/* systemd compares the time with the time of its request. It is the time of CLOCK_MONOTONIC. */
void ready_reloading(void) {
    struct timespec now;
    char *state;

    if (!ready.started)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    state =
        xasprintf("RELOADING=1\nMONOTONIC_USEC=%lld", (long long)now.tv_sec * US_PER_S + now.tv_nsec / 1000);
    notify_status(state, "reloading", 0);
    free(state);
}

void ready_reloaded(void) {
    if (ready.started)
        notify("READY=1", 0);
    ready.report_due = 0;
}

void ready_stopping(void) {
    notify_status("STOPPING=1", "stopping", 0);
}
