/* The progress line of a subcommand on a terminal, and its end by a signal. */
#include "tools/line_progress.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/terminal_text.h"

#define TELL_US (200 * US_PER_MS)

static volatile sig_atomic_t ended;

static void on_signal(int signal) {
    (void)signal;
    ended = 1;
}

void line_signals(void) {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
}

bool line_ended(void) {
    return ended;
}

void line_progress_begin(struct line_progress *p) {
    *p = (struct line_progress){ .begin_us = clock_mono_now() };
}

void line_progress_tell(struct line_progress *p, int64_t done) {
    int64_t now = clock_mono_now(), rate;

    if (!isatty(STDERR_FILENO) || now < p->told_us + TELL_US)
        return;
    p->told_us = now;
    p->shown = true;
    rate = done * US_PER_S / (now - p->begin_us + 1);
    fprintf(stderr, "\r%lld of %lld, %lld/s", (long long)done, (long long)p->total, (long long)rate);
    if (rate > 0 && done <= p->total)
        fprintf(stderr, ", %lld s to go", (long long)((p->total - done) / rate));
    fprintf(stderr, "\033[K");
}

void line_count_print(int64_t count, const char *name) {
    printf("%lld\t", (long long)count);
    terminal_print_if(stdout, name);
    putchar('\n');
}

void line_progress_clear(const struct line_progress *p) {
    if (p->shown)
        fprintf(stderr, "\r\033[K");
}
