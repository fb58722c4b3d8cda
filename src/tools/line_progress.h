#ifndef LINE_PROGRESS_H
#define LINE_PROGRESS_H

#include "base/util.h"

/* The progress line of a long subcommand, on a terminal only; and its end by a signal. */
struct line_progress {
    int64_t begin_us, told_us;
    int64_t total;    /* number of items; 0: not known */
    const char *unit; /* "jobs" */
    bool shown;
};

void line_progress_begin(struct line_progress *p, const char *unit);
/* Shows the number of items that are done, at most five times a second. */
void line_progress_tell(struct line_progress *p, int64_t done);
/* Clears the progress line. Call it before printing other lines. */
void line_progress_clear(const struct line_progress *p);

/* SIGINT and SIGTERM set a flag from now on, instead of ending the process. */
void line_signals(void);
/* Has SIGINT or SIGTERM arrived? */
bool line_ended(void);

#endif
