#ifndef PATTERN_H
#define PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "vars.h"
#include "wire.h"

/* The reply that a transcript expects. README.md describes the notation. */
struct pattern;

/* NULL with a sentence in err when the text is not a pattern. */
struct pattern *pattern_parse(const char *text, const struct vars *vars, char *err, size_t size);
void pattern_free(struct pattern *p);
/* On a match, unknown names get the value at their place. */
bool pattern_match(const struct pattern *p, const struct value *v, struct vars *vars);

#endif
