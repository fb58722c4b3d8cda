/* Iterations over all clients in parts. */
#include "net/client_iter.h"

static struct list client_iters = { &client_iters, &client_iters };

void client_iter_begin(struct client_iter *w) {
    if (w->in_iters.next != NULL)
        list_remove(&w->in_iters);
    w->next = client_list(CLIENT_OPEN)->next;
    list_push_back(&client_iters, &w->in_iters);
}

struct client *client_iter_next(struct client_iter *w) {
    struct list *node;

    if (w->next == client_list(CLIENT_OPEN))
        w->next = client_list(CLIENT_CLOSING)->next;
    node = w->next;
    if (node == client_list(CLIENT_CLOSING)) {
        list_remove(&w->in_iters);
        return NULL;
    }
    w->next = node->next;
    return LIST_ENTRY(node, struct client, in_state);
}

void client_iters_leave(const struct client *c) {
    LIST_EACH(node, &client_iters) {
        struct client_iter *w = LIST_ENTRY(node, struct client_iter, in_iters);

        if (w->next == &c->in_state)
            w->next = c->in_state.next;
    }
}
