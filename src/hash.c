/* The keyed hash of all hash tables. */
#include "hash.h"

#include <sodium.h>

static unsigned char key[crypto_shorthash_KEYBYTES];

/* Before main(), so that no table can exist without the key. */
static void __attribute__((constructor)) make_key(void) {
    crypto_shorthash_keygen(key);
}

unsigned hash_bytes(const void *bytes, size_t len) {
    unsigned char hash[crypto_shorthash_BYTES];
    unsigned low;

    crypto_shorthash(hash, bytes, len, key);
    memcpy(&low, hash, sizeof low);
    return low;
}
