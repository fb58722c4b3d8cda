#ifndef CLIENT_ITER_H
#define CLIENT_ITER_H

#include "net/client.h"

/*
 * An iteration over all open and closing clients, in parts of any size. Between the parts clients may connect, close and end.
 * Each client that stays is visited at least once. A client that closes during the iteration may be visited twice.
 */
struct client_iter {
    struct list in_iters;
    struct list *next; /* in_state of the next client; the head of the list: it has no more clients */
};

/* Begins, or begins again. A new iteration is zeroed. */
void client_iter_begin(struct client_iter *w);
/* The next client. NULL: the iteration is over. */
struct client *client_iter_next(struct client_iter *w);
/* Called before the client leaves the list of its state. */
void client_iters_leave(const struct client *c);

#endif
