#ifndef FILE_REPLACE_H
#define FILE_REPLACE_H

#include <stdbool.h>
#include "base/buf.h"

/* Replaces the file at path by one with that content, as a whole or not at all. The new file has the mode and the owner
 * of the old file. Without an old file, only its owner may read it. False with errno. */
bool file_replace(const char *path, const struct buf *content) MUST_CHECK;

#endif
