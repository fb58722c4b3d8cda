#ifndef PUBSUB_H
#define PUBSUB_H

#include <stdbool.h>
#include <stddef.h>
#include "base/util.h"
#include "net/client.h"

/*
 * Who of this server's clients listens to which channels, by name or by pattern. A message is written into
 * the output of each and forgotten: at most once, and never to those who come later. What other servers'
 * clients get is told by relay.h.
 */
enum pubsub_kind { PUBSUB_CHANNEL, PUBSUB_PATTERN, PUBSUB_KINDS };

/* What a channel's name and its message may have together. */
#define PUBSUB_MESSAGE_MAX ((size_t)1024 * 1024)
/* A message is compared with all patterns in one turn. These bound the time: the length of a channel's name, the
 * patterns of a client, and the patterns of all clients with their bytes. */
#define PUBSUB_CHANNEL_MAX ((size_t)1024)
#define PUBSUB_PATTERNS_EACH 1024
#define PUBSUB_PATTERNS_ALL 65536
#define PUBSUB_PATTERN_BYTES ((size_t)1024 * 1024)

/* tell_others passes a message of pubsub_publish() to the other servers. Until this call there are none. */
void pubsub_init(void (*tell_others)(struct slice channel, struct slice message));

/* False when c did, or did not, already. */
bool pubsub_subscribe(struct client *c, enum pubsub_kind kind, struct slice name);
bool pubsub_unsubscribe(struct client *c, enum pubsub_kind kind, struct slice name);
/* One to which c listens, or NULL. */
const struct slice *pubsub_any(const struct client *c, enum pubsub_kind kind);
/* c gets no message from now on. What many subscriptions leave behind is cleared away in later turns. */
void pubsub_unsubscribe_all(struct client *c);
/* To how many c listens. */
size_t pubsub_count(const struct client *c, enum pubsub_kind kind);

/* Writes the message to those who listen here, and says to how many: a client counts once for the name and
 * for each of its patterns. */
size_t pubsub_deliver(struct slice channel, struct slice message);
/* The same; and the other servers are told, if it is not too large. */
size_t pubsub_publish(struct slice channel, struct slice message);

/* How many names or patterns are listened to. */
size_t pubsub_topics(enum pubsub_kind kind);
/* The bytes of all patterns that are listened to. */
size_t pubsub_pattern_bytes(void);
/* Going over the names of channels in several turns: a name that is listened to all the time is met once. */
struct pubsub_walk {
    struct list node;
    struct list *next;
};
void pubsub_walk_begin(struct pubsub_walk *w);
/* NULL: all were met. */
const struct slice *pubsub_walk_next(struct pubsub_walk *w);
void pubsub_walk_end(struct pubsub_walk *w);
/* Clients that listen to the name. */
size_t pubsub_listeners(struct slice channel);
/* Clients that listen to anything. */
size_t pubsub_clients(void);

#endif
