/* A hash table with little memory for each entry. It grows by linear hashing: one chain at a time. */
#include "base/compact_table.h"

#include <stdlib.h>

#define FIRST_HEADS 16
/* With fewer entries for this number of chains, chains are ended. */
#define FEW 8

static void push(struct compact_link **head, struct compact_link *link) {
    link->next = *head;
    *head = link;
}

/* Moves the entries of the new chain out of the chain that had them. */
static void divide_chain(struct compact_table *t, struct compact_link **from, size_t to) {
    struct compact_link **at = from;

    while (*at != NULL) {
        struct compact_link *link = *at;

        if ((t->hash_of(link) & t->mask) != to) {
            at = &link->next;
            continue;
        }
        *at = link->next;
        push(&t->heads[to], link);
    }
}

static void add_chain(struct compact_table *t) {
    size_t new = t->chains;

    if (new == t->cap) {
        t->cap = t->cap == 0 ? FIRST_HEADS : t->cap * 2;
        t->heads = xrealloc(t->heads, t->cap * sizeof *t->heads);
    }
    t->heads[new] = NULL;
    if (new > t->mask)
        t->mask = t->mask * 2 + 1;
    t->chains++;
    if (new > 0)
        divide_chain(t, &t->heads[new &(t->mask >> 1)], new);
}

/* Moves the entries of the last chain to the chain that had them before. */
static void end_chain(struct compact_table *t) {
    struct compact_link **at = &t->heads[(t->chains - 1) & (t->mask >> 1)];

    while (*at != NULL)
        at = &(*at)->next;
    *at = t->heads[--t->chains];
    if (t->chains - 1 <= t->mask >> 1)
        t->mask >>= 1;
}

void compact_add(struct compact_table *t, unsigned hash, struct compact_link *link) {
    if (t->count >= t->chains)
        add_chain(t);
    else if (t->count < t->chains / FEW && t->chains > FIRST_HEADS)
        end_chain(t);
    push(&t->heads[compact_chain(t, hash)], link);
    t->count++;
}

void compact_remove(struct compact_table *t, unsigned hash, struct compact_link *link) {
    struct compact_link **at = &t->heads[compact_chain(t, hash)];

    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    t->count--;
}

void compact_each(struct compact_table *t, void (*see)(struct compact_link *link)) {
    for (size_t i = 0; i < t->chains; i++) {
        struct compact_link *next;

        for (struct compact_link *link = t->heads[i]; link != NULL; link = next) {
            next = link->next;
            see(link);
        }
    }
}
