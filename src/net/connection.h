#ifndef CONNECTION_H
#define CONNECTION_H

#include <stdbool.h>
#include "base/node.h"
#include "base/util.h"
#include "net/client.h"
#include "net/request.h"

/*
 * Functions for the commands about connections: names that clients set, and addresses that they are shown.
 */

/* The version of Redis whose handshake and INFO this server imitates. Sidekiq and others refuse older
 * versions. */
#define REDIS_COMPAT_VERSION "7.2.4"

/* True if name is printable ASCII without blanks, of at most LABEL_MAX_BYTES, so that lists of clients can
 * be parsed. what: its description, "Client names". False if it has replied the error and ended the request. */
bool connection_name_or_reply(struct req *r, const char *what, struct slice name) MUST_CHECK;
/* Replaces *text by a copy of value, or by NULL if value is empty. */
void connection_set_text(char **text, struct slice value);

struct node_address {
    char host[64]; /* may be empty: the address that the client is connected to */
    char port[8];
};

/* The address where c can reach n. For this server, that is the announced address, or else the one that c is
 * connected to. */
struct node_address connection_node_address(const struct client *c, const struct node *n);
/* True if c may run commands that destroy data (enable-debug-command). */
bool connection_may_debug(const struct client *c);

/* Gives c the rights of the user. */
void connection_log_in(struct client *c, struct user *u);
/* The same for a login without a password. Closes c if the user, or the server, has too many clients. */
void connection_log_in_or_close(struct client *c, struct user *u);
/* Puts c into the state before a login. */
void connection_log_out(struct client *c);

#endif
