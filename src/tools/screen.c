/* The whole terminal for a tool, restored at its end. */
#include "tools/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "tools/terminal_text.h"

#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"

static struct {
    struct termios before;
    sigset_t mask_before;
    int signals; /* a signalfd */
    bool keys;   /* stdin is a terminal */
} screen = { .signals = -1 };

static void screen_write(const char *bytes, size_t len) {
    while (len > 0) {
        ssize_t done = TEMP_FAILURE_RETRY(write(STDOUT_FILENO, bytes, len));

        if (done <= 0)
            return;
        bytes += done;
        len -= (size_t)done;
    }
}

static void screen_enter(void) {
    struct termios raw;

    screen.keys = tcgetattr(STDIN_FILENO, &screen.before) == 0;
    if (screen.keys) {
        raw = screen.before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
    }
    screen_write(ENTER, sizeof ENTER - 1);
}

static void screen_leave(void) {
    screen_write(LEAVE, sizeof LEAVE - 1);
    if (screen.keys)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &screen.before);
}

bool screen_open(void) {
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH };
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < LENGTH(numbers); i++)
        sigaddset(&set, numbers[i]);
    screen.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (screen.signals < 0 || sigprocmask(SIG_BLOCK, &set, &screen.mask_before) != 0)
        return false;
    screen_enter();
    return true;
}

void screen_close(void) {
    screen_leave();
    close(screen.signals);
    sigprocmask(SIG_SETMASK, &screen.mask_before, NULL);
}

void screen_show(const struct buf *lines) {
    size_t columns, height, line = 0;
    struct buf out = { 0 };
    const char *at = buf_ptr(lines), *end = at + buf_len(lines);

    terminal_size(STDOUT_FILENO, &columns, &height);
    buf_append_str(&out, "\033[H");
    while (at < end && line++ < height) {
        const char *next = memchr(at, '\n', (size_t)(end - at));

        next = next == NULL ? end : next;
        buf_append(&out, at, (size_t)(next - at));
        buf_append_str(&out, line < height ? "\033[K\r\n" : "\033[K");
        at = next + 1;
    }
    buf_append_str(&out, "\033[J");
    screen_write(buf_ptr(&out), buf_len(&out));
    buf_free(&out);
}

/* Ctrl-Z: the shell gets the terminal as it was, until the process continues. */
static void screen_suspend(void) {
    screen_leave();
    raise(SIGSTOP);
    screen_enter();
}

static enum screen_event take_signal(void) {
    struct signalfd_siginfo info;

    if (read(screen.signals, &info, sizeof info) != (ssize_t)sizeof info)
        return SCREEN_TIMEOUT;
    if (info.ssi_signo == SIGTSTP)
        screen_suspend();
    return info.ssi_signo == SIGTSTP || info.ssi_signo == SIGWINCH ? SCREEN_REDRAW : SCREEN_END;
}

enum screen_event screen_wait(int ms, char *key) {
    struct pollfd polled[] = { { screen.signals, POLLIN, 0 },
                               { screen.keys ? STDIN_FILENO : -1, POLLIN, 0 } };

    if (TEMP_FAILURE_RETRY(poll(polled, LENGTH(polled), ms)) <= 0)
        return SCREEN_TIMEOUT;
    if (polled[0].revents != 0)
        return take_signal();
    /* The end of the input means that the terminal is gone. */
    return read(STDIN_FILENO, key, 1) == 1 ? SCREEN_KEY : SCREEN_END;
}
