#ifndef CLIENT_TLS_H
#define CLIENT_TLS_H

#include "base/tls.h"
#include "net/client.h"

/*
 * Clients with TLS. Their handshakes have their own share of each turn, because a handshake takes longer than most
 * commands. A client in its handshake is neither read nor written.
 */

/* open is called when the handshake of a client is done. */
void client_tls_init(struct event_base *base, void (*open)(struct client *c));
/* Begins TLS and its handshake. client_kill() follows if the handshake fails. */
void client_tls_begin(struct client *c);
/* Continues handshakes, within their share of the turn. */
void client_tls_turn(void);
/* True if handshakes are left: the next turn must not wait for events. */
bool client_tls_pending(void);
/* Refuses a socket before its handshake, in place of an error text. */
void client_tls_refuse(int fd);

static inline bool client_in_handshake(const struct client *c) {
    return c->tls != NULL && !tls_is_open(c->tls);
}
/* True if input is in memory that no event of the socket announces. */
static inline bool client_has_unread(const struct client *c) {
    return c->tls != NULL && tls_has_more(c->tls);
}
/* Like send(2) for the output of c. */
ssize_t client_tls_send(const struct client *c);
/* The reason of a failed read or write of c. */
const char *client_io_error(const struct client *c);

#endif
