/* layer 0 */
#ifndef HASH_H
#define HASH_H

#include "util.h"

/* Hash tables whose memory never runs out, as all memory here; see util.h. */
#define uthash_malloc(size) xmalloc(size)
#include <uthash.h>

#endif
