/* The progress line of a subcommand on a terminal, and its end by a signal. */
#include "tools/line_progress.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

#define TELL_US (200 * US_PER_MS)
#define BAR_COLUMNS 24

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

void line_progress_begin(struct line_progress *p, const char *unit) {
    *p = (struct line_progress){ .begin_us = clock_mono_now(), .unit = unit };
}

/* Appends "[####      ] 40 %". A total that is not known has no bar. */
static void append_bar(const struct line_progress *p, int64_t done, struct buf *out) {
    int64_t filled;

    if (p->total <= 0)
        return;
    done = done < p->total ? done : p->total;
    filled = done * BAR_COLUMNS / p->total;
    buf_append_str(out, "[");
    for (int64_t i = 0; i < BAR_COLUMNS; i++)
        buf_append_str(out, i < filled ? "#" : " ");
    buf_printf(out, "] %lld %%, ", (long long)(done * 100 / p->total));
}

void line_progress_tell(struct line_progress *p, int64_t done) {
    int64_t now = clock_mono_now(), rate;
    struct buf out = { 0 };

    if (!isatty(STDERR_FILENO) || now < p->told_us + TELL_US)
        return;
    p->told_us = now;
    p->shown = true;
    rate = done * US_PER_S / (now - p->begin_us + 1);
    buf_append_str(&out, "\r");
    append_bar(p, done, &out);
    buf_printf(&out, "%lld", (long long)done);
    if (p->total > 0)
        buf_printf(&out, " of %lld", (long long)p->total);
    buf_printf(&out, " %s, %lld/s", p->unit, (long long)rate);
    if (rate > 0 && done <= p->total)
        buf_printf(&out, ", %lld s to go", (long long)((p->total - done) / rate));
    buf_append_str(&out, "\033[K");
    fwrite(buf_ptr(&out), 1, buf_len(&out), stderr);
    buf_free(&out);
}

void line_progress_clear(const struct line_progress *p) {
    if (p->shown)
        fprintf(stderr, "\r\033[K");
}
