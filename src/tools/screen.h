#ifndef SCREEN_H
#define SCREEN_H

#include "base/buf.h"
#include "base/util.h"

/*
 * A terminal that a tool uses as a whole, such as `pgdisque top`. Signals are blocked while the screen is open, and
 * arrive in screen_wait(). So the terminal is restored at SIGINT, SIGTERM, SIGHUP and SIGTSTP.
 */
enum screen_event { SCREEN_TIMEOUT, SCREEN_KEY, SCREEN_REDRAW, SCREEN_END };

/* Opens the screen on stdout, with keys from stdin if it is a terminal. False if that fails. */
bool screen_open(void) MUST_CHECK;
/* Restores the terminal and the signals. */
void screen_close(void);
/* Shows lines. Lines below the end of the screen are left out. */
void screen_show(const struct buf *lines);
/* Waits for a key, a signal, or so many milliseconds. */
enum screen_event screen_wait(int ms, char *key);

#endif
