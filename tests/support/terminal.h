#ifndef TERMINAL_H
#define TERMINAL_H

#include <sys/types.h>

#include "fixture.h"

/* A program on a terminal of 120 columns and 40 lines. */
struct terminal {
    pid_t pid;
    int master, slave;
    char *text; /* the output so far, with a NUL at the end */
    size_t len;
};

/* Starts a tool, whose words end with NULL. */
void terminal_start(struct terminal *t, const char *const *words);
/* The same with a file as its input. */
void terminal_start_with(struct terminal *t, const char *const *words, const char *input);
/* Fails the test unless the text is in the output from the byte `from` on, sooner or later. Returns the end of it. */
size_t terminal_expect(struct terminal *t, size_t from, const char *text);
void terminal_type(struct terminal *t, const char *keys);
/* Does the terminal echo keys, and does it give lines? So it was at the begin. */
bool terminal_is_ordinary(const struct terminal *t);
/* Waits for the end. Returns the exit status, or 128 + signal. */
int terminal_wait(struct terminal *t);
void terminal_close(struct terminal *t);

#endif
