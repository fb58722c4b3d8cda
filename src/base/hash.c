/* The keyed hash function of all hash tables: SipHash-1-3. */
#include "base/hash.h"

#include <sodium.h>

struct siphash hash_start;

void hash_set_key(const uint64_t key[2]) {
    hash_start = (struct siphash){ key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
                                   key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573 };
}

/* Runs before main(), so that no table can exist before the key is set. */
static void __attribute__((constructor)) make_key(void) {
    uint64_t key[2];

    randombytes_buf(key, sizeof key);
    hash_set_key(key);
}

unsigned hash_bytes(const void *bytes, size_t len) {
    const char *at = bytes;
    struct siphash s = hash_start;
    size_t left = len;
    uint64_t word;

    for (; left >= sizeof word; left -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        hash_word(&s, le64toh(word));
    }
    word = 0;
    if (left > 0)
        memcpy(&word, at, left);
    return hash_end(&s, le64toh(word) | (uint64_t)len << 56);
}
