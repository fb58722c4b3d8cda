#ifndef CONNECTION_H
#define CONNECTION_H

#include <stdbool.h>
#include "base/node.h"
#include "base/util.h"
#include "net/client.h"
#include "net/req.h"

/*
 * What the commands about connections share: names that clients give
 * themselves, and addresses that are shown to them.
 */

/* The Redis whose handshake and figures we are compatible with; Sidekiq and
 * others refuse versions that are too old. */
#define REDIS_COMPAT_VERSION "7.2.4"

/* Is name, which what describes ("Client names", "lib-name"), printable ASCII without blanks and at most
 * LABEL_MAX_BYTES long, so that lists of clients can be parsed? False when it has replied the error and ended
 * the request. */
bool connection_name_or_reply(struct req *r, const char *what, struct slice name) MUST_CHECK;
/* Replaces *text by a copy of value, or by NULL when that is empty. */
void connection_set_text(char **text, struct slice value);

struct node_address {
    char host[64]; /* may be empty: the address the client is connected to */
    char port[8];
};

/* Where c can reach n. This server's own address is the announced one, or else
 * the one that c is connected to. */
struct node_address connection_node_address(const struct client *c, const struct node *n);
/* Does c, which may have gone, want IDs as bulks? */
bool connection_wants_bulk_ids(const struct client *c);
/* Is c on this machine? */
bool connection_is_local(const struct client *c);
/* May it run what destroys (enable-debug-command)? */
bool connection_may_debug(const struct client *c);

#endif
