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
#include <unistd.h>

static struct {
    int pipe;    /* to the waiting process; -1: no process waits */
    int systemd; /* the connected socket; -1: there is none */
    bool keep_output;
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

bool ready_detach(bool keep_output) {
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
    ready.keep_output = keep_output;
    silence(STDIN_FILENO, STDIN_FILENO);
    return setsid() >= 0;
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
    ready.systemd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (ready.systemd >= 0)
        (void)connect(ready.systemd, (struct sockaddr *)&sa,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}

static void notify(const char *state) {
    if (ready.systemd >= 0)
        (void)send(ready.systemd, state, strlen(state), MSG_NOSIGNAL);
}

void ready_tell(const char *status) {
    char *state = xasprintf("READY=1\nSTATUS=%s", status);

    notify(state);
    free(state);
    if (ready.pipe < 0)
        return;
    if (!ready.keep_output)
        silence(STDOUT_FILENO, STDERR_FILENO);
    if (write(ready.pipe, "", 1) != 1)
        perror("pgdisque");
    close(ready.pipe);
    ready.pipe = -1;
}

void ready_stopping(void) {
    notify("STOPPING=1\nSTATUS=stopping");
}
