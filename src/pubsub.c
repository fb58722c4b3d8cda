/* Channels and who listens: messages are written to clients and forgotten. */
#include "pubsub.h"

#include <stdlib.h>

#include "hash.h"
#include "match.h"
#include "relay.h"
#include "resp.h"

struct topic {
    UT_hash_handle hh; /* by its name */
    struct slice name;
    struct list listeners;
    size_t count;
};

/* Of one client to one topic. */
struct subscription {
    UT_hash_handle hh; /* of the client's, by the topic */
    struct list in_topic;
    struct topic *topic;
    struct client *client;
};

/* What a client listens to; none has an empty one. */
struct pubsub {
    struct subscription *kinds[PUBSUB_KINDS];
};

static struct topic *topics[PUBSUB_KINDS];
static size_t client_total;

static struct topic *find_topic(enum pubsub_kind kind, struct slice name) {
    struct topic *t;

    HASH_FIND(hh, topics[kind], name.ptr, name.len, t);
    return t;
}

static struct topic *get_topic(enum pubsub_kind kind, struct slice name) {
    struct topic *t = find_topic(kind, name);

    if (t != NULL)
        return t;
    t = xcalloc(1, sizeof *t);
    t->name = (struct slice){ xmemdup(name.ptr, name.len), name.len };
    list_init(&t->listeners);
    HASH_ADD_KEYPTR(hh, topics[kind], t->name.ptr, t->name.len, t);
    return t;
}

static void leave_topic(enum pubsub_kind kind, struct topic *t) {
    if (--t->count > 0)
        return;
    HASH_DELETE(hh, topics[kind], t);
    free((char *)t->name.ptr);
    free(t);
}

static struct subscription *find(const struct client *c, enum pubsub_kind kind, const struct topic *t) {
    struct subscription *s;

    if (c->pubsub == NULL || t == NULL)
        return NULL;
    HASH_FIND(hh, c->pubsub->kinds[kind], &t, sizeof t, s);
    return s;
}

bool pubsub_subscribe(struct client *c, enum pubsub_kind kind, struct slice name) {
    struct topic *t = get_topic(kind, name);
    struct subscription *s = find(c, kind, t);

    if (s != NULL)
        return false;
    if (c->pubsub == NULL) {
        c->pubsub = xcalloc(1, sizeof *c->pubsub);
        client_total++;
    }
    s = xcalloc(1, sizeof *s);
    s->topic = t;
    s->client = c;
    t->count++;
    list_push_back(&t->listeners, &s->in_topic);
    HASH_ADD(hh, c->pubsub->kinds[kind], topic, sizeof s->topic, s);
    return true;
}

static void drop(enum pubsub_kind kind, struct subscription *s) {
    struct client *c = s->client;

    HASH_DELETE(hh, c->pubsub->kinds[kind], s);
    list_remove(&s->in_topic);
    leave_topic(kind, s->topic);
    free(s);
    if (c->pubsub->kinds[PUBSUB_CHANNEL] != NULL || c->pubsub->kinds[PUBSUB_PATTERN] != NULL)
        return;
    free(c->pubsub);
    c->pubsub = NULL;
    client_total--;
}

bool pubsub_unsubscribe(struct client *c, enum pubsub_kind kind, struct slice name) {
    struct subscription *s = find(c, kind, find_topic(kind, name));

    if (s == NULL)
        return false;
    drop(kind, s);
    return true;
}

const struct slice *pubsub_any(const struct client *c, enum pubsub_kind kind) {
    return c->pubsub == NULL || c->pubsub->kinds[kind] == NULL ? NULL : &c->pubsub->kinds[kind]->topic->name;
}

void pubsub_unsubscribe_all(struct client *c) {
    for (int kind = 0; kind < PUBSUB_KINDS; kind++)
        while (c->pubsub != NULL && c->pubsub->kinds[kind] != NULL)
            drop((enum pubsub_kind)kind, c->pubsub->kinds[kind]);
}

size_t pubsub_count(const struct client *c, enum pubsub_kind kind) {
    return c->pubsub == NULL ? 0 : HASH_COUNT(c->pubsub->kinds[kind]);
}

/* ---- messages ---- */

/* As it is written, for each protocol made once. */
struct form {
    struct buf bytes[2];
    bool made[2];
};

static void make(struct buf *out, int proto, const struct topic *pattern, struct slice channel,
                 struct slice message) {
    resp_push(out, pattern != NULL ? 4 : 3, proto);
    resp_bulk_str(out, pattern != NULL ? "pmessage" : "message");
    if (pattern != NULL)
        resp_bulk(out, pattern->name);
    resp_bulk(out, channel);
    resp_bulk(out, message);
}

static size_t deliver_to(struct topic *t, bool pattern, struct slice channel, struct slice message) {
    struct form form = { 0 };
    size_t count = 0;

    LIST_EACH(node, &t->listeners) {
        struct client *c = LIST_ENTRY(node, struct subscription, in_topic)->client;
        int at = c->proto == 3;

        if (c->state != CLIENT_OPEN)
            continue;
        if (!form.made[at])
            make(&form.bytes[at], c->proto, pattern ? t : NULL, channel, message);
        form.made[at] = true;
        client_push(c, buf_ptr(&form.bytes[at]), buf_len(&form.bytes[at]));
        count++;
    }
    buf_free(&form.bytes[0]);
    buf_free(&form.bytes[1]);
    return count;
}

size_t pubsub_deliver(struct slice channel, struct slice message) {
    struct topic *t = find_topic(PUBSUB_CHANNEL, channel);
    size_t count = t == NULL ? 0 : deliver_to(t, false, channel, message);

    for (t = topics[PUBSUB_PATTERN]; t != NULL; t = t->hh.next)
        if (glob_match(t->name, channel, false))
            count += deliver_to(t, true, channel, message);
    return count;
}

size_t pubsub_publish(struct slice channel, struct slice message) {
    if (channel.len + message.len <= PUBSUB_MESSAGE_MAX)
        relay_tell(channel, message);
    return pubsub_deliver(channel, message);
}

/* ---- what there is ---- */

size_t pubsub_topics(enum pubsub_kind kind) {
    return HASH_COUNT(topics[kind]);
}

const struct topic *pubsub_next(enum pubsub_kind kind, const struct topic *after) {
    return after == NULL ? topics[kind] : after->hh.next;
}

struct slice pubsub_name(const struct topic *t) {
    return t->name;
}

size_t pubsub_listeners(struct slice channel) {
    const struct topic *t = find_topic(PUBSUB_CHANNEL, channel);

    return t == NULL ? 0 : t->count;
}

size_t pubsub_clients(void) {
    return client_total;
}
