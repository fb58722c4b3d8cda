#ifndef GLOB_H
#define GLOB_H

#include <stdbool.h>
#include "base/util.h"

/* The longest pattern that a client may give. */
#define PATTERN_MAX 1024

/*
 * Glob match with the syntax of Redis' KEYS: * ? [set] \x.
 *
 * The time is bounded for every pattern: about text.len * (pattern.len / 64 + 1) steps, and at most pattern.len * 256
 * more. That is a millisecond for PATTERN_MAX and a text of 64 KB.
 */
bool glob_match(struct slice pattern, struct slice text, bool ignore_case);
/* The same result by the automaton alone, to which glob_match() switches for the worst patterns. For tests. */
bool glob_match_worst(struct slice pattern, struct slice text, bool ignore_case);

#endif
