#ifndef IMPORT_HASH_H
#define IMPORT_HASH_H

#include "tools/import.h"

/* Kinds whose tasks are hashes. */
extern const struct import_kind import_rq, import_bull, import_bullmq;
/* Reads the hashes of elements that are IDs, and sets their fields. The caller frees the replies, which hold the
 * fields. Errors are in im->from. */
void import_fetch(struct import *im, const struct import_source *s, struct import_element *elements,
                  size_t count, redisReply **fields);

#endif
