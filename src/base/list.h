#ifndef LIST_H
#define LIST_H

#include <stdbool.h>
#include <stddef.h>
#include "base/util.h"

/*
 * Intrusive doubly linked lists. A node is a member of the struct that it links, so adding and removing never allocate.
 * list_init() makes a node that is in no list. Removing such a node again is harmless.
 */
struct list {
    struct list *next;
    struct list *prev;
};

static inline void list_init(struct list *l) {
    l->next = l;
    l->prev = l;
}

static inline bool list_empty(const struct list *l) {
    return l->next == l;
}

static inline void list_insert_before(struct list *where, struct list *node) {
    node->prev = where->prev;
    node->next = where;
    where->prev->next = node;
    where->prev = node;
}

static inline void list_push_back(struct list *l, struct list *node) {
    list_insert_before(l, node);
}

static inline void list_push_front(struct list *l, struct list *node) {
    list_insert_before(l->next, node);
}

static inline void list_remove(struct list *node) {
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

/* Moves all of from, in its order, to the end of to. */
static inline void list_splice_back(struct list *to, struct list *from) {
    if (list_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    list_init(from);
}

static inline struct list *list_pop_front(struct list *l) {
    struct list *node = l->next;

    if (node == l)
        return NULL;
    list_remove(node);
    return node;
}

#define LIST_ENTRY(node, type, member) CONTAINER_OF(node, type, member)
#define LIST_EACH(node, l) for (struct list *node = (l)->next; node != (l); node = node->next)
/* The body may remove node, but no other node. */
#define LIST_EACH_SAFE(node, l)                                                 \
    for (struct list *node = (l)->next, *node##_next = node->next; node != (l); \
         node = node##_next, node##_next = node->next)

#endif
