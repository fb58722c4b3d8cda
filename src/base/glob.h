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
/*
 * The same match of a text that comes in pieces, for texts that are too long for one turn. A piece of 64 KB takes at most
 * as long as such a text. glob_run_read() returns false if the text does not match, whatever comes. glob_run_end() returns
 * true if the text matches, and frees g.
 */
struct glob_run;
struct glob_run *glob_run_begin(struct slice pattern, bool ignore_case);
bool glob_run_read(struct glob_run *g, struct slice piece);
bool glob_run_end(struct glob_run *g);
/* The same result by the automaton alone, to which glob_match() switches for the worst patterns. For tests. */
bool glob_match_worst(struct slice pattern, struct slice text, bool ignore_case);

#endif
