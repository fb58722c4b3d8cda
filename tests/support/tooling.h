#ifndef TOOLING_H
#define TOOLING_H

#include <stdarg.h>

#include "fixture.h"

/* Runs of tools such as `pgdisque queues`. */

/* Runs the tool with these words, the last of which is NULL. Returns its exit status. *out is the text that it prints,
 * also to stderr, until the next call. */
int tooling_run(const char **out, const char *tool, ...) __attribute__((sentinel));
int tooling_vrun(const char **out, const char *tool, va_list words);
/* The same with words in an array, and text on its input; input may be NULL. */
int tooling_run_words(const char **out, const char *const *words, const char *input);

/* Runs the tool, and fails the test unless it ends with this status and prints the text. Returns its output. */
#define TOOLING(status, says, ...) tooling_must(status, says, (const char *const[]){ __VA_ARGS__, NULL })
const char *tooling_must(int status, const char *says, const char *const *words);

/* Fails the test unless the text is in the output. */
void tooling_says(const char *out, const char *text);

#endif
