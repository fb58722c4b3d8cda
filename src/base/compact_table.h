#ifndef COMPACT_TABLE_H
#define COMPACT_TABLE_H

#include <stddef.h>
#include "base/util.h"

/*
 * A hash table that takes 16 bytes for each entry: a link in the entry, and a head of a chain. It is for objects of which
 * a server has millions. hash.h is simpler, and takes 60 bytes. The table has no order.
 *
 * A new entry moves the entries of at most one chain, so no call takes long. The table keeps the memory of its heads. But
 * if few entries are left, each new one ends a chain, so that the heads in use are close together.
 * Hashes are those of hash_key(), because clients choose many of the keys.
 */
struct compact_link {
    struct compact_link *next;
};

/* All zero but for hash_of it is an empty table. */
struct compact_table {
    unsigned (*hash_of)(const struct compact_link *link);
    struct compact_link **heads;
    size_t chains;
    size_t cap;  /* of heads */
    size_t mask; /* the smallest 2^n - 1 that is at least chains - 1 */
    size_t count;
};

/* The number of the chain of that hash. A branch would be taken at random, so there is none. */
static inline size_t compact_chain(const struct compact_table *t, unsigned hash) {
    size_t at = hash & t->mask;

    return at & (t->mask >> (at >= t->chains));
}

/* A chain of entries. Entries with that hash are in it, and others. NULL: it is empty. */
static inline struct compact_link *compact_first(const struct compact_table *t, unsigned hash) {
    return t->count == 0 ? NULL : t->heads[compact_chain(t, hash)];
}

/* hash: that of the key. The table has no entry with the key. */
void compact_add(struct compact_table *t, unsigned hash, struct compact_link *link);
/* link must be in the table. */
void compact_remove(struct compact_table *t, unsigned hash, struct compact_link *link);
/* Calls see() for all entries. see() may remove its entry, and changes no other. */
void compact_each(struct compact_table *t, void (*see)(struct compact_link *link));

#endif
