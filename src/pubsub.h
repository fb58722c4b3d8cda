/* layer 3 */
#ifndef PUBSUB_H
#define PUBSUB_H

#include <stdbool.h>
#include <stddef.h>
#include "client.h"
#include "util.h"

/*
 * Who of this server's clients listens to which channels, by name or by pattern. A message is written into
 * the output of each and forgotten: at most once, and never to those who come later. What other servers'
 * clients get is told by relay.h.
 */
enum pubsub_kind { PUBSUB_CHANNEL, PUBSUB_PATTERN, PUBSUB_KINDS };

/* What a channel's name and its message may have together. */
#define PUBSUB_MESSAGE_MAX ((size_t)1024 * 1024)

/* False when c did, or did not, already. */
bool pubsub_subscribe(struct client *c, enum pubsub_kind kind, struct slice name);
bool pubsub_unsubscribe(struct client *c, enum pubsub_kind kind, struct slice name);
/* One to which c listens, or NULL. */
const struct slice *pubsub_any(const struct client *c, enum pubsub_kind kind);
void pubsub_unsubscribe_all(struct client *c);
/* To how many c listens. */
size_t pubsub_count(const struct client *c, enum pubsub_kind kind);

/* Writes the message to those who listen here, and says to how many: a client counts once for the name and
 * for each of its patterns. */
size_t pubsub_deliver(struct slice channel, struct slice message);
/* The same; and the other servers are told, if it is not too large. */
size_t pubsub_publish(struct slice channel, struct slice message);

/* How many names or patterns are listened to; the next of them behind after, NULL: the first. */
size_t pubsub_topics(enum pubsub_kind kind);
struct topic;
const struct topic *pubsub_next(enum pubsub_kind kind, const struct topic *after);
struct slice pubsub_name(const struct topic *t);
/* Clients that listen to the name. */
size_t pubsub_listeners(struct slice channel);
/* Clients that listen to anything. */
size_t pubsub_clients(void);

#endif
