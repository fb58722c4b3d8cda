#ifndef HISTORY_H
#define HISTORY_H

#include <stddef.h>
#include <stdint.h>
#include "base/util.h"

/*
 * What clients did, in the order in which they did it: a line for each command that is sent and one
 * for its end. Times are microseconds of CLOCK_MONOTONIC; a command's time is taken before it is
 * sent, an end's time after it was read, so that of two commands whose lines do not overlap one
 * really came after the other. tests/README.md has the form of the lines.
 */
void history_open(const char *path);
void history_close(void);
/* What was written so far reaches the file. */
void history_flush(void);

/* Microseconds, now. */
int64_t history_clock(void);

/* Begins a line: kind is i (sent), o (ok), f (failed: had no effect) or u (nobody knows); op is the
 * number of the command. The rest is printed with history_print() and ended by history_end(). */
void history_line(char kind, int64_t at, uint64_t op);
void history_print(const char *fmt, ...) PRINTF_LIKE(1, 2);
void history_end(void);

#endif
