#ifndef WORDS_H
#define WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/util.h"

/*
 * Lines as people type them: words between blanks, tabs and CR. "..." knows
 * \xHH \n \r \t \b \a and \c = c; '...' knows only \'. A quote may start inside
 * of a word, and a blank or the line's end follows the closing one.
 */
enum word_result { WORD_FOUND, WORD_END, WORD_UNBALANCED };

/* The next word of line[*from .. end), unquoted in place; *from moves behind it. */
enum word_result word_next(char *line, size_t end, size_t *from, struct slice *word) MUST_CHECK;

#endif
