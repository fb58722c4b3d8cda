#ifndef UNPROVEN_H
#define UNPROVEN_H

#include "net/client_tls.h"

/*
 * Clients that have not sent their password or ended their TLS handshake. Together they get a share of each turn, so
 * that thousands of them do not delay other clients. Their sockets are in an epoll set of their own,
 * because the event loop would process all their events before the next turn.
 *
 * A client enters the set when it is accepted, and leaves it when both are done, or when it is closed.
 */

/* True if the client has not sent its password. Its input and output have small limits. */
static inline bool client_is_limited(const struct client *c) {
    return !c->authenticated && !users_need_no_login();
}
/* True if the client has not sent its password or ended its handshake. It is closed after auth-timeout, and gives way to
 * others. */
static inline bool client_is_unproven(const struct client *c) {
    return client_is_limited(c) || client_in_handshake(c);
}

/* on_event is called for a client whose socket is ready, with the events of epoll(7). on_ready is called for a client
 * after unproven_make_ready(). */
void unproven_init(struct event_base *base, void (*on_event)(struct client *c, unsigned events),
                   void (*on_ready)(struct client *c));
void unproven_stop(void);

static inline bool unproven_has(const struct client *c) {
    return !list_empty(&c->in_unproven);
}
/* The socket is watched for input. */
void unproven_add(struct client *c);
void unproven_remove(struct client *c);
/* The events of the socket that matter from now on. Its failure always matters. */
void unproven_watch(struct client *c, bool read, bool write);
/* Input that no event of the socket announces waits. */
void unproven_make_ready(struct client *c);
/* The client that entered first, or NULL. */
struct client *unproven_oldest(void);

/* Serves the clients that are ready, within their share of the turn. */
void unproven_turn(void);
/* True if clients are left to serve: the next turn must not wait for events. */
bool unproven_pending(void);

#endif
