#ifndef PUBSUB_H
#define PUBSUB_H

#include <stdbool.h>
#include <stddef.h>
#include "base/util.h"
#include "net/client.h"

/*
 * The subscriptions of this server's clients to channels, by name or by pattern. A message is written to the
 * output of each subscriber and is not stored: it arrives at most once, and never at later subscribers. pubsub_forward.h
 * passes messages to the clients of peers.
 */
enum pubsub_kind { PUBSUB_CHANNEL, PUBSUB_PATTERN, PUBSUB_KINDS };

/* Maximum bytes of a channel's name and its message together. */
#define PUBSUB_MESSAGE_MAX ((size_t)1024 * 1024)
/* A message is compared with all patterns in one turn. These limits bound the time: the length of a
 * channel's name, the patterns of a client, and the number and bytes of all patterns. */
#define PUBSUB_CHANNEL_MAX ((size_t)1024)
#define PUBSUB_PATTERNS_EACH 1024
#define PUBSUB_PATTERNS_ALL 65536
#define PUBSUB_PATTERN_BYTES ((size_t)1024 * 1024)
/* A user with limited rights has this part of PUBSUB_PATTERNS_ALL and PUBSUB_PATTERN_BYTES. */
#define PUBSUB_USER_PART 8

/* Channels of job events: this prefix, and then the name of the queue. Their messages reach only users who may read the
 * queue. */
#define EVENTS_PREFIX "__job__:"
/* The same for the IDs of running jobs that are cancelled. */
#define CANCEL_PREFIX "__cancel__:"

/* tell_others passes a message of pubsub_publish() to the peers. */
void pubsub_init(void (*tell_others)(struct slice channel, struct slice message));

/* False if c was subscribed, or not subscribed, already. */
bool pubsub_subscribe(struct client *c, enum pubsub_kind kind, struct slice name);
bool pubsub_unsubscribe(struct client *c, enum pubsub_kind kind, struct slice name);
/* Any subscription of c, or NULL. */
const struct slice *pubsub_any(const struct client *c, enum pubsub_kind kind);
/* Ends all subscriptions of c at once. If there are many, their memory is freed in later turns. */
void pubsub_unsubscribe_all(struct client *c);
/* True if fits() accepts the names of all subscriptions of c of that kind. */
bool pubsub_all(const struct client *c, enum pubsub_kind kind,
                bool (*fits)(const struct client *c, struct slice name));
/* The number of subscriptions of c. */
size_t pubsub_count(const struct client *c, enum pubsub_kind kind);

/* Writes the message to the subscribers of this server. Returns how many: a client counts once for the name
 * and once for each of its patterns. */
size_t pubsub_deliver(struct slice channel, struct slice message);
/* The same, and passes the message to the peers if it is not too large. */
size_t pubsub_publish(struct slice channel, struct slice message);

/* True if messages of the channel reach the user, as far as the rights on queues matter. NULL: the server itself. */
bool pubsub_may_receive(const struct user *u, enum pubsub_kind kind, struct slice channel);

/* The number of names or patterns with subscribers. */
size_t pubsub_topics(enum pubsub_kind kind);
/* The bytes of all patterns with subscribers. */
size_t pubsub_pattern_bytes(void);
/* An iteration over the names of channels, in several turns. A name that has subscribers all the time is
 * returned once. */
struct pubsub_iter {
    struct list node;
    struct list *next;
};
void pubsub_iter_begin(struct pubsub_iter *w);
/* The next name; NULL at the end. */
const struct slice *pubsub_iter_next(struct pubsub_iter *w);
void pubsub_iter_end(struct pubsub_iter *w);
/* The number of clients that are subscribed to the name. */
size_t pubsub_listeners(struct slice channel);
/* The number of clients that have a subscription. */
size_t pubsub_clients(void);

#endif
