/* The programs that the tool work runs: start, output, end. */
#include "tools/work_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* The exit statuses of a shell for a command that it cannot run. */
#define EXIT_NOT_FOUND 127
#define EXIT_NOT_RUN 126
/* A pipe has 64 KB. A program that writes without end gets no more reads at a time. */
#define READS_MAX 8

bool work_program_exists(const char *name) {
    const char *path = getenv("PATH");
    struct slice rest = slice_str(path != NULL ? path : "/usr/local/bin:/usr/bin:/bin"), directory;
    bool found = false;

    if (strchr(name, '/') != NULL)
        return access(name, X_OK) == 0;
    while (!found && slice_next_word(&rest, ":", &directory)) {
        char *file = xasprintf("%.*s/%s", (int)directory.len, directory.ptr, name);

        found = access(file, X_OK) == 0;
        free(file);
    }
    return found;
}

/* ---- start; the functions from here to work_program_start() run in the child ---- */

/* exec() resets handlers, but keeps signals ignored or blocked. */
static void reset_work_signals(void) {
    sigset_t none;

    for (int sig = 1; sig < NSIG; sig++)
        signal(sig, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

_Noreturn static void work_child(char **argv, char **envp, int in, int out, int err, pid_t parent) {
    setpgid(0, 0);
    reset_work_signals();
    /* The parent may have ended before. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(EXIT_NOT_RUN);
    dup2(in, STDIN_FILENO);
    if (out >= 0)
        dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    execvpe(argv[0], argv, envp);
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN);
}

/* ---- start ---- */

/* A file in memory with the body, so that the tool need not write while the program reads. -1: errno has the reason. */
static int body_file(struct slice body) {
    int fd = memfd_create("body", MFD_CLOEXEC);

    while (fd >= 0 && body.len > 0) {
        ssize_t wrote = write(fd, body.ptr, body.len);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0) {
            close(fd);
            return -1;
        }
        body.ptr += wrote;
        body.len -= (size_t)wrote;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

static void close_end(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Only the end of the tool does not block: the program gets a usual pipe. */
static bool output_pipe(int fds[2]) {
    return pipe2(fds, O_CLOEXEC) == 0 && fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0;
}

bool work_program_start(struct work_program *p, char **argv, char **envp, struct slice body,
                        size_t result_max) {
    int in = body_file(body), out[2] = { -1, -1 }, err[2] = { -1, -1 };
    pid_t parent = getpid();

    *p = (struct work_program){ .pid = -1, .out = -1, .err = -1, .result_max = result_max };
    if (in >= 0 && output_pipe(err) && (result_max == 0 || output_pipe(out)))
        p->pid = fork();
    if (p->pid == 0)
        work_child(argv, envp, in, out[1], err[1], parent);
    if (p->pid > 0) {
        setpgid(p->pid, p->pid);
        p->out = out[0];
        p->err = err[0];
        out[0] = err[0] = -1;
    }
    for (int i = 0; i < 2; i++) {
        close_end(&out[i]);
        close_end(&err[i]);
    }
    close_end(&in);
    return p->pid > 0;
}

/* ---- output ---- */

/* Reads what has arrived, and at most the content of a full pipe. Calls take for each piece. */
static void drain(struct work_program *p, int *fd, void (*take)(struct work_program *, struct slice)) {
    char bytes[16 * 1024];

    for (int i = 0; i < READS_MAX && *fd >= 0; i++) {
        ssize_t got = read(*fd, bytes, sizeof bytes);
        if (got > 0)
            take(p, (struct slice){ bytes, (size_t)got });
        else if (got == 0 || (errno != EINTR && errno != EAGAIN))
            close_end(fd);
        else if (errno == EAGAIN)
            return;
    }
}

static void take_result(struct work_program *p, struct slice bytes) {
    size_t room = p->result_max - buf_len(&p->result);

    buf_append(&p->result, bytes.ptr, bytes.len < room ? bytes.len : room);
}

static void take_errors(struct work_program *p, struct slice bytes) {
    fwrite(bytes.ptr, 1, bytes.len, stderr);
    buf_append(&p->errors, bytes.ptr, bytes.len);
    if (buf_len(&p->errors) > WORK_ERRORS_MAX)
        buf_consume(&p->errors, buf_len(&p->errors) - WORK_ERRORS_MAX);
}

void work_program_read(struct work_program *p) {
    drain(p, &p->out, take_result);
    drain(p, &p->err, take_errors);
}

/* ---- end ---- */

bool work_program_ended(struct work_program *p) {
    siginfo_t info = { .si_pid = 0 };

    if (p->pid < 0)
        return true;
    if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0)
        return false;
    /* The number of the group is that of the program until waitpid(). */
    if (p->kill_us > 0)
        kill(-p->pid, SIGKILL);
    waitpid(p->pid, &p->status, 0);
    p->pid = -1;
    work_program_read(p);
    return true;
}

void work_program_ask(struct work_program *p, int64_t grace_us) {
    if (p->pid < 0 || p->kill_us > 0)
        return;
    kill(-p->pid, SIGTERM);
    p->kill_us = clock_mono_now() + grace_us + 1;
}

void work_program_kill_at(struct work_program *p, int64_t now_us) {
    if (p->pid < 0 || p->kill_us == 0 || now_us < p->kill_us)
        return;
    kill(-p->pid, SIGKILL);
    p->kill_us = INT64_MAX;
}

void work_program_free(struct work_program *p) {
    close_end(&p->out);
    close_end(&p->err);
    buf_free(&p->result);
    buf_free(&p->errors);
}
