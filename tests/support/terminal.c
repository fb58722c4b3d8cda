/* Runs a tool on a terminal of its own. */
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include "base/util.h"

#define WORDS 32
#define WAIT_MS 60000

static void run_child(const struct terminal *t, const char *const *words, const char *input) {
    const char *argv[WORDS + 2] = { server_program() };

    for (size_t i = 0; i < WORDS && words[i] != NULL; i++)
        argv[i + 1] = words[i];
    close(t->master);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (login_tty(t->slave) == 0 &&
        (input == NULL || dup2(open(input, O_RDONLY), STDIN_FILENO) == STDIN_FILENO))
        execv(argv[0], (char *const *)argv);
    _exit(126);
}

void terminal_start(struct terminal *t, const char *const *words) {
    terminal_start_with(t, words, NULL);
}

void terminal_start_with(struct terminal *t, const char *const *words, const char *input) {
    const struct winsize size = { .ws_row = 40, .ws_col = 120 };

    *t = (struct terminal){ .text = xcalloc(1, 1) };
    assert_int_equal(openpty(&t->master, &t->slave, NULL, NULL, &size), 0);
    t->pid = fork();
    assert_true(t->pid >= 0);
    if (t->pid == 0)
        run_child(t, words, input);
    fcntl(t->master, F_SETFL, O_NONBLOCK);
}

static void terminal_read(struct terminal *t) {
    char bytes[4096];
    ssize_t got;

    while ((got = read(t->master, bytes, sizeof bytes)) > 0) {
        t->text = xrealloc(t->text, t->len + (size_t)got + 1);
        memcpy(t->text + t->len, bytes, (size_t)got);
        t->len += (size_t)got;
        t->text[t->len] = '\0';
    }
}

static bool has_text(struct terminal *t, size_t from, const char *text) {
    terminal_read(t);
    return from <= t->len && strstr(t->text + from, text) != NULL;
}

size_t terminal_expect(struct terminal *t, size_t from, const char *text) {
    if (!WAIT_UNTIL(has_text(t, from, text), WAIT_MS))
        fail_msg("\"%s\" is not on the terminal: %s", text, t->text + (from <= t->len ? from : 0));
    return (size_t)(strstr(t->text + from, text) - t->text) + strlen(text);
}

void terminal_type(struct terminal *t, const char *keys) {
    assert_int_equal(write(t->master, keys, strlen(keys)), strlen(keys));
}

bool terminal_is_ordinary(const struct terminal *t) {
    struct termios now;

    assert_int_equal(tcgetattr(t->slave, &now), 0);
    return (now.c_lflag & ICANON) != 0 && (now.c_lflag & ECHO) != 0;
}

/* The output is read until the end, because a full terminal stops the tool. */
int terminal_wait(struct terminal *t) {
    int status = 0;

    if (!WAIT_UNTIL((terminal_read(t), has_ended(t->pid, &status)), WAIT_MS)) {
        kill(t->pid, SIGKILL);
        wait_exit(t->pid, WAIT_MS);
        fail_msg("the tool does not end: %s", t->text);
    }
    terminal_read(t);
    return status;
}

void terminal_close(struct terminal *t) {
    close(t->master);
    close(t->slave);
    free(t->text);
}
