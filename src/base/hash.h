#ifndef HASH_H
#define HASH_H

#include <endian.h>
#include <string.h>
#include "base/util.h"

/*
 * uthash with this project's allocator and hash function. An allocation never fails; see util.h. Clients choose many of
 * the keys. Every table uses SipHash-1-3 with a random key of the process, so that no client can choose keys that
 * collide. No other file includes uthash.h.
 */
unsigned hash_bytes(const void *bytes, size_t len);
/* For tests. Call it only while no table has an entry. */
void hash_set_key(const uint64_t key[2]);

/* The state of SipHash: four words. The key gives their initial values. */
struct siphash {
    uint64_t v0, v1, v2, v3;
};

extern struct siphash hash_start;

static inline uint64_t hash_rotate(uint64_t word, int bits) {
    return word << bits | word >> (64 - bits);
}

static inline void hash_round(struct siphash *s) {
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = hash_rotate(s->v1, 13) ^ s->v0;
    s->v3 = hash_rotate(s->v3, 16) ^ s->v2;
    s->v0 = hash_rotate(s->v0, 32) + s->v3;
    s->v2 += s->v1;
    s->v3 = hash_rotate(s->v3, 21) ^ s->v0;
    s->v1 = hash_rotate(s->v1, 17) ^ s->v2;
    s->v2 = hash_rotate(s->v2, 32);
}

static inline void hash_word(struct siphash *s, uint64_t word) {
    s->v3 ^= word;
    hash_round(s);
    s->v0 ^= word;
}

/* last: the remaining bytes that do not fill a word, and the length of the input in the highest byte. */
static inline unsigned hash_end(struct siphash *s, uint64_t last) {
    hash_word(s, last);
    s->v2 ^= 0xff;
    hash_round(s);
    hash_round(s);
    hash_round(s);
    return (unsigned)(s->v0 ^ s->v1 ^ s->v2 ^ s->v3);
}

/* The same result as hash_bytes(). A key of at most 8 bytes and of a constant size is hashed inline. */
static inline unsigned hash_key(const void *key, size_t len) {
    struct siphash s = hash_start;
    uint64_t word = 0;

    if (!__builtin_constant_p(len) || len > sizeof word)
        return hash_bytes(key, len);
    memcpy(&word, key, len);
    if (len < sizeof word)
        return hash_end(&s, le64toh(word) | (uint64_t)len << 56);
    hash_word(&s, le64toh(word));
    return hash_end(&s, (uint64_t)len << 56);
}

#define uthash_malloc(size) xmalloc(size)
#define HASH_FUNCTION(key, len, hash) ((hash) = hash_key(key, len))
#include <uthash.h>

/*
 * A table in parts, for tables in which clients can make millions of entries. A table that grows moves all of its
 * entries at once; a table in parts moves only the entries of one part. It is an array of HASH_PARTS heads, all NULL at
 * first.
 */
#define HASH_PARTS 64
#define HASH_PART(hash) ((hash) >> 26) /* the bits that buckets use last */

#define PARTS_FIND(hh, parts, keyptr, keylen, out)                                        \
    do {                                                                                  \
        unsigned hash_ = hash_key(keyptr, keylen);                                        \
        HASH_FIND_BYHASHVALUE(hh, (parts)[HASH_PART(hash_)], keyptr, keylen, hash_, out); \
    } while (0)
#define PARTS_ADD(hh, parts, keyptr, keylen, item)                                               \
    do {                                                                                         \
        unsigned hash_ = hash_key(keyptr, keylen);                                               \
        HASH_ADD_KEYPTR_BYHASHVALUE(hh, (parts)[HASH_PART(hash_)], keyptr, keylen, hash_, item); \
    } while (0)
#define PARTS_DELETE(hh, parts, item) HASH_DELETE(hh, (parts)[HASH_PART((item)->hh.hashv)], item)

#endif
