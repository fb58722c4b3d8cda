#ifndef CLIENT_WALK_H
#define CLIENT_WALK_H

#include "net/client.h"

/*
 * A walk over all open and closing clients, in parts of any size. Between the parts clients may connect, close and end.
 * Each client that stays is visited at least once. A client that closes during the walk may be visited twice.
 */
struct client_walk {
    struct list in_walks;
    struct list *next; /* in_state of the next client; the head of the list: it has no more clients */
};

/* Begins, or begins again. A new walk is zeroed. */
void client_walk_begin(struct client_walk *w);
/* The next client. NULL: the walk is over. */
struct client *client_walk_next(struct client_walk *w);
/* Called before the client leaves the list of its state. */
void client_walks_leave(const struct client *c);

#endif
