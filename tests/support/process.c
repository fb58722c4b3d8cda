/* Child processes and scratch directories that never outlive the test. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system_user.h"
#include "wait.h"

#define TAIL_BYTES 6000

static char scratch[PATH_SIZE];
static pid_t scratch_owner;
static pid_t watcher;
static int watcher_pipe = -1;

void die(const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    fputs("# cannot go on: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

void path_join(char out[PATH_SIZE], const char *fmt, ...) {
    va_list ap;
    int len;

    va_start(ap, fmt);
    len = vsnprintf(out, PATH_SIZE, fmt, ap);
    va_end(ap);
    if (len < 0 || len >= PATH_SIZE)
        die("path too long: %s", out);
}

const char *forever(const char *text) {
    static struct kept {
        struct kept *next;
        char text[];
    } * all;
    struct kept *k = malloc(sizeof(*k) + strlen(text) + 1);

    if (!k)
        die("out of memory");
    strcpy(k->text, text);
    k->next = all;
    all = k;
    return k->text;
}

/* Runs in the watcher: when the last writer of the pipe is gone, so is the test. */
_Noreturn static void watch(int read_end) {
    int null = open("/dev/null", O_RDWR);
    char byte;

    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    while (read(read_end, &byte, 1) < 0 && errno == EINTR)
        continue;
    /* Processes that die just now may still be writing: try until it is gone. */
    for (int i = 0; i < 50 && access(scratch, F_OK) == 0; i++) {
        const char *argv[] = { "rm", "-rf", scratch, NULL };
        pid_t pid = spawn(&(struct spawn){ .argv = argv, .death_signal = SIGKILL });

        if (wait_exit(pid, 10000) != 0)
            pause_briefly();
    }
    _exit(0);
}

/* At a normal end of the test the directory is gone when the process is. */
static void remove_scratch(void) {
    if (getpid() != scratch_owner)
        return;
    close(watcher_pipe);
    waitpid(watcher, NULL, 0);
}

static void start_watcher(void) {
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) != 0)
        die("pipe: %s", strerror(errno));
    watcher = fork();
    if (watcher < 0)
        die("fork: %s", strerror(errno));
    if (watcher == 0) {
        close(fds[1]);
        watch(fds[0]);
    }
    close(fds[0]);
    watcher_pipe = fds[1];
}

const char *scratch_dir(void) {
    const char *tmp = getenv("TMPDIR");

    if (scratch_owner == getpid())
        return scratch;
    path_join(scratch, "%s/pgdisque-test.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(scratch) || chmod(scratch, 0755) != 0)
        die("%s: %s", scratch, strerror(errno));
    scratch_owner = getpid();
    start_watcher();
    atexit(remove_scratch);
    return scratch;
}

const char *run_dir(void) {
    const char *dir = getenv("PGDISQUE_TEST_DIR");

    return dir && *dir ? dir : scratch_dir();
}

uid_t unprivileged_uid(gid_t *gid) {
    struct system_user user;
    char err[256];

    if (!system_user_choose(&user, "", err, sizeof err))
        die("the tests need an unprivileged user for Postgres: %s", err);
    if (!user.change)
        return 0;
    *gid = user.gid;
    return user.uid;
}

static void limit_files(rlim_t files) {
    if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){ files, files }) != 0)
        _exit(123);
}

static void drop_privileges(void) {
    gid_t gid;
    uid_t uid = unprivileged_uid(&gid);

    if (uid && (setgid(gid) != 0 || setuid(uid) != 0))
        _exit(126);
}

_Noreturn static void run_child(const struct spawn *s, pid_t parent) {
    sigset_t none;

    if (s->log) {
        int fd = open(s->log, O_WRONLY | O_CREAT | O_APPEND, 0644);

        if (fd < 0)
            _exit(125);
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
    }
    if (s->files > 0)
        limit_files(s->files);
    if (s->unprivileged)
        drop_privileges();
    /* After the change of user, which would clear it. */
    prctl(PR_SET_PDEATHSIG, s->death_signal ? s->death_signal : SIGKILL);
    if (getppid() != parent)
        _exit(124);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(s->argv[0], (char *const *)s->argv);
    dprintf(STDERR_FILENO, "%s: %s\n", s->argv[0], strerror(errno));
    _exit(127);
}

pid_t spawn(const struct spawn *s) {
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid < 0)
        die("fork: %s", strerror(errno));
    if (pid == 0)
        run_child(s, parent);
    return pid;
}

static int status_code(int status) {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool has_ended(pid_t pid, int *status) {
    int raw;

    if (waitpid(pid, &raw, WNOHANG) != pid)
        return false;
    *status = status_code(raw);
    return true;
}

int wait_exit(pid_t pid, int ms) {
    int status = -1;

    if (WAIT_UNTIL(has_ended(pid, &status), ms))
        return status;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return -1;
}

void run_command(const struct spawn *s) {
    int status = wait_exit(spawn(s), 60000);

    if (status == 0)
        return;
    if (s->log)
        show_tail(s->log, s->argv[0]);
    die("%s ended with status %d", s->argv[0], status);
}

static char *read_file(const char *path, size_t *len) {
    FILE *f = fopen(path, "r");
    char *text;
    long size;

    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    size = ftell(f);
    rewind(f);
    text = malloc((size_t)size + 1);
    *len = fread(text, 1, (size_t)size, f);
    text[*len] = '\0';
    fclose(f);
    return text;
}

void show_tail(const char *path, const char *name) {
    size_t len = 0;
    char *text = read_file(path, &len);
    char *save = NULL;
    char *from;

    if (!text)
        return;
    from = len > TAIL_BYTES ? text + len - TAIL_BYTES : text;
    for (char *line = strtok_r(from, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        fprintf(stderr, "# %s: %s\n", name, line);
    free(text);
}

int file_count(const char *path, const char *text) {
    size_t len = 0;
    char *content = read_file(path, &len);
    int count = 0;

    if (content == NULL)
        return 0;
    for (char *at = content; (at = memmem(at, len - (size_t)(at - content), text, strlen(text))) != NULL;
         at++)
        count++;
    free(content);
    return count;
}

bool file_contains(const char *path, const char *text) {
    return file_count(path, text) > 0;
}
