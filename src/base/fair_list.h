#ifndef FAIR_LIST_H
#define FAIR_LIST_H

#include <stddef.h>
#include <stdint.h>
#include "base/list.h"

/*
 * Lists whose entries are in turn by user: start-time fair queueing. A user with a thousand entries delays the entry of
 * another user by one entry, and not by a thousand. The entries of one user keep their order.
 *
 * Each entry has a cost. An entry starts when the entries before it of its user have ended, and not before the entry that
 * was taken last. The list has the order of the starts, so each user gets the same share of the cost.
 */

/* The entries of one user in one list. */
struct fair_place {
    uint64_t finish; /* the start of the next entry, unless the list is further */
    struct fair_node *last;
    size_t count;
};

/* A user. Zeroed, it has no entries. The user lives until its entries have left their lists. */
struct fair_user {
    struct fair_place *places; /* by the numbers of the lists */
    unsigned place_count;
};

struct fair_list {
    struct list nodes; /* struct fair_node, the next one first */
    uint64_t start;    /* of the entry that was taken last */
    unsigned number;   /* from 1 on; 0: it has had no entry of a user */
    struct fair_place server;
};

/* An entry. fair_node_init() makes it one that is in no list. */
struct fair_node {
    struct list node;
    struct fair_list *in;   /* NULL: in no list */
    struct fair_user *user; /* NULL: the server itself. Changed only while the entry is in no list. */
    uint64_t start;
};

static inline void fair_node_init(struct fair_node *n) {
    list_init(&n->node);
    n->in = NULL;
}

/* The initial value of the static list l. It is empty. */
#define FAIR_LIST(l)                        \
    {                                       \
        .nodes = { &(l).nodes, &(l).nodes } \
    }
/* Makes the list empty. */
void fair_list_init(struct fair_list *l);
static inline bool fair_list_is_empty(const struct fair_list *l) {
    return list_empty(&l->nodes);
}
/* The next entry. The list is not empty. */
static inline struct fair_node *fair_first(const struct fair_list *l) {
    return LIST_ENTRY(l->nodes.next, struct fair_node, node);
}
/* Adds an entry of that cost, at least 1. */
void fair_add(struct fair_list *l, struct fair_node *n, size_t cost);
/* Adds an entry that was taken before, in front of all others. */
void fair_put_back(struct fair_list *l, struct fair_node *n);
/* Adds an entry behind all others. */
void fair_add_last(struct fair_list *l, struct fair_node *n, size_t cost);
/* Removes the entry. Harmless if it is in no list. */
void fair_remove(struct fair_node *n);
/* The same for an entry that is served now. */
void fair_take(struct fair_node *n);
/* Frees the memory of a user without entries. */
void fair_user_free(struct fair_user *u);

#endif
