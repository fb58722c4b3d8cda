#ifndef LINE_PROGRESS_H
#define LINE_PROGRESS_H

#include "base/util.h"

/* How far a subcommand is that runs for a while, told on a terminal only; and whether it shall end. */
struct line_progress {
    int64_t begin_us, told_us;
    int64_t total; /* at the begin */
    bool shown;
};

void line_progress_begin(struct line_progress *p);
void line_progress_tell(struct line_progress *p, int64_t done);
/* Before other lines are printed. */
void line_progress_clear(const struct line_progress *p);

/* From now on SIGINT and SIGTERM ask it to end. */
void line_signals(void);
bool line_ended(void);

#endif
