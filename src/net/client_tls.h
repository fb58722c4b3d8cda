#ifndef CLIENT_TLS_H
#define CLIENT_TLS_H

#include "base/tls.h"
#include "net/client.h"

/*
 * Clients with TLS. A client in its handshake belongs to the set of unproven.h. Its commands are neither read nor
 * answered.
 */

/* Continues the handshake when the socket is ready. */
void client_tls_continue(struct client *c);
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
