#ifndef IMPORT_KINDS_H
#define IMPORT_KINDS_H

#include "tools/import.h"

/* The kind with this name, or NULL. */
const struct import_kind *import_kind(const char *name);

/* Calls add for each member of the Redis set; add appends the sources of a member. False with a sentence in im->err. */
typedef void import_add(const char *name, struct import_source **out, size_t *found);
bool import_add_members(struct import *im, const char *set, import_add *add, struct import_source **out,
                        size_t *found) MUST_CHECK;

#endif
