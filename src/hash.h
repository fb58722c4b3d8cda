/* layer 0 */
#ifndef HASH_H
#define HASH_H

#include "util.h"

/*
 * Hash tables whose memory never runs out, as all memory here; see util.h.
 * Clients choose many of the keys. Every table hashes by SipHash with a random
 * key of the process, so that no client can choose keys that collide. No other
 * file includes uthash.h.
 */
unsigned hash_bytes(const void *key, size_t len);

#define uthash_malloc(size) xmalloc(size)
#define HASH_FUNCTION(key, len, hash) ((hash) = hash_bytes(key, len))
#include <uthash.h>

#endif
