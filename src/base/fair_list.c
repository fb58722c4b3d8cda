/* Lists whose entries are in turn by user. */
#include "base/fair_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

void fair_list_init(struct fair_list *l) {
    list_init(&l->nodes);
    l->start = 0;
    l->server = (struct fair_place){ 0 };
}

static struct fair_place *place_of(struct fair_list *l, struct fair_user *u) {
    static unsigned numbers;

    if (u == NULL)
        return &l->server;
    if (l->number == 0)
        l->number = ++numbers;
    if (u->place_count < l->number) {
        u->places = xrealloc(u->places, l->number * sizeof *u->places);
        memset(u->places + u->place_count, 0, (l->number - u->place_count) * sizeof *u->places);
        u->place_count = l->number;
    }
    return &u->places[l->number - 1];
}

static struct fair_node *fair_node_of(struct list *node) {
    return LIST_ENTRY(node, struct fair_node, node);
}

/* The first node that starts after n. The last node of the same user starts before it. */
static struct list *fair_next_of(const struct fair_list *l, const struct fair_place *p,
                                 const struct fair_node *n) {
    const struct list *end = &l->nodes;
    struct list *at = p->count > 0 ? &p->last->node : end->next;

    if (end->prev != end && fair_node_of(end->prev)->start > n->start) {
        while (fair_node_of(at)->start <= n->start)
            at = at->next;
        return at;
    }
    return (struct list *)end;
}

static void fair_insert(struct fair_list *l, struct fair_place *p, struct fair_node *n, struct list *before) {
    n->in = l;
    list_insert_before(before, &n->node);
    p->count++;
}

void fair_add(struct fair_list *l, struct fair_node *n, size_t cost) {
    struct fair_place *p = place_of(l, n->user);

    n->start = p->finish > l->start ? p->finish : l->start;
    p->finish = n->start + cost;
    fair_insert(l, p, n, fair_next_of(l, p, n));
    p->last = n;
}

void fair_put_back(struct fair_list *l, struct fair_node *n) {
    struct fair_place *p = place_of(l, n->user);

    n->start = fair_list_is_empty(l) ? l->start : fair_first(l)->start;
    fair_insert(l, p, n, l->nodes.next);
    if (p->count == 1)
        p->last = n;
}

void fair_add_last(struct fair_list *l, struct fair_node *n, size_t cost) {
    struct fair_place *p = place_of(l, n->user);
    uint64_t last = fair_list_is_empty(l) ? l->start : fair_node_of(l->nodes.prev)->start;

    n->start = p->finish > last ? p->finish : last;
    p->finish = n->start + cost;
    fair_insert(l, p, n, &l->nodes);
    p->last = n;
}

/* Rarely needed: an earlier entry of the user is left. */
static struct fair_node *fair_one_before(const struct fair_node *n) {
    struct list *at = n->node.prev;

    while (fair_node_of(at)->user != n->user)
        at = at->prev;
    return fair_node_of(at);
}

void fair_remove(struct fair_node *n) {
    struct fair_place *p;

    if (n->in == NULL)
        return;
    p = place_of(n->in, n->user);
    if (--p->count > 0 && p->last == n)
        p->last = fair_one_before(n);
    list_remove(&n->node);
    n->in = NULL;
}

/* An entry that is taken before its turn does not move the list on. */
void fair_take(struct fair_node *n) {
    if (n->in != NULL && n->node.prev == &n->in->nodes)
        n->in->start = n->start;
    fair_remove(n);
}

void fair_user_free(struct fair_user *u) {
    free(u->places);
    *u = (struct fair_user){ 0 };
}
