/* Walks over all clients in parts. */
#include "net/client_walk.h"

static struct list walks = { &walks, &walks };

void client_walk_begin(struct client_walk *w) {
    if (w->in_walks.next != NULL)
        list_remove(&w->in_walks);
    w->next = client_list(CLIENT_OPEN)->next;
    list_push_back(&walks, &w->in_walks);
}

struct client *client_walk_next(struct client_walk *w) {
    struct list *node;

    if (w->next == client_list(CLIENT_OPEN))
        w->next = client_list(CLIENT_CLOSING)->next;
    node = w->next;
    if (node == client_list(CLIENT_CLOSING)) {
        list_remove(&w->in_walks);
        return NULL;
    }
    w->next = node->next;
    return LIST_ENTRY(node, struct client, in_state);
}

void client_walks_leave(const struct client *c) {
    LIST_EACH(node, &walks) {
        struct client_walk *w = LIST_ENTRY(node, struct client_walk, in_walks);

        if (w->next == &c->in_state)
            w->next = c->in_state.next;
    }
}
