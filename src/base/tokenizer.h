#ifndef TOKENIZER_H
#define TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include "base/util.h"

/*
 * Splits a line into words, for configuration files and inline commands. Blanks, tabs, CR and LF separate words. Inside
 * "..." the escapes are \xHH \n \r \t \b \a, and \c is c. Inside '...' the only escape is \'. An opening quote may
 * stand inside a word. A separator or the line's end must follow the closing quote.
 */
enum word_result { WORD_FOUND, WORD_END, WORD_UNBALANCED };

/* The next word of line[*from .. end). The word is unquoted in place, and *from moves behind it. */
enum word_result tokenizer_next(char *line, size_t end, size_t *from, struct slice *word) MUST_CHECK;

#endif
