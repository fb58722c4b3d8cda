#ifndef TERMINAL_TEXT_H
#define TERMINAL_TEXT_H

#include <stdio.h>
#include "base/buf.h"
#include "base/util.h"

/*
 * Texts for a terminal. Names and bodies of jobs are bytes of clients, which could send commands to the terminal.
 * Control characters, characters that change the direction of text, characters without a width, and bytes that are not
 * UTF-8 are written as \xNN. A backslash stays as it is.
 */

/* Appends the text. Returns its width in columns. With a most above 0, the text is cut to so many columns and ends with
 * "...". */
size_t terminal_append(struct buf *out, struct slice text, size_t most);
/* The same to a file, uncut. */
void terminal_print(FILE *to, struct slice text);
/* Prints the text as it is, unless the file is a terminal. */
void terminal_print_if(FILE *to, const char *text);

/* Appends JSON. The characters that terminal_append() escapes become \uNNNN, so that the text stays JSON. */
void terminal_append_json(struct buf *out, struct slice json);

/* The columns and lines of the terminal on a descriptor. 80 and 24 if they are not known. */
void terminal_size(int fd, size_t *columns, size_t *lines);

#endif
