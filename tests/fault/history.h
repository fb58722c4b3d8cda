#ifndef HISTORY_H
#define HISTORY_H

#include <stddef.h>
#include <stdint.h>
#include "base/util.h"

/* The record of the clients' actions, in their order: a line for each sent command and a line for its end. Times are
 * microseconds of CLOCK_MONOTONIC. The time of a command is taken before it is sent, and that of its end after the
 * reply was read. Of two commands whose lines do not overlap, the second began after the first had ended.
 * tests/README.md has the form of the lines. */
void history_open(const char *path);
void history_close(void);
/* Writes all lines to the file. */
void history_flush(void);

/* Microseconds, now. */
int64_t history_clock(void);

/* Begins a line. kind is i (sent), o (ok), f (failed without effect) or u (unknown). op is the number of the command.
 * history_print() prints the rest, and history_end() ends the line. */
void history_line(char kind, int64_t at, uint64_t op);
void history_print(const char *fmt, ...) PRINTF_LIKE(1, 2);
void history_end(void);

#endif
