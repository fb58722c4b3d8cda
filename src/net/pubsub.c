/* Channels and their subscribers: writes messages to clients, and does not store them. */
#include "net/pubsub.h"

#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/hash.h"
#include "net/long_work.h"
#include "net/resp.h"

struct topic {
    UT_hash_handle hh; /* by name */
    struct slice name;
    struct list in_kind;
    struct list listeners;
    size_t count;
    struct user *user; /* of the first listener of a pattern; NULL: a channel */
};

/* The subscription of a client to a topic. */
struct subscription {
    UT_hash_handle hh; /* by key */
    struct list in_topic;
    struct list in_client;
    struct subscription_key {
        struct pubsub *of;
        struct topic *topic;
    } key;
};

/* The subscriptions of a client. It is freed when the last one ends. */
struct pubsub {
    struct client *client; /* NULL: it has unsubscribed from all, and `work` removes the subscriptions */
    struct list kinds[PUBSUB_KINDS];
    size_t counts[PUBSUB_KINDS];
    struct long_work work;
};

static void (*forward)(struct slice channel, struct slice message);
static struct topic *topics[PUBSUB_KINDS][HASH_PARTS];
/* Topics in the order of their creation. */
static struct list in_order[PUBSUB_KINDS] = { { &in_order[0], &in_order[0] },
                                              { &in_order[1], &in_order[1] } };
static size_t topic_counts[PUBSUB_KINDS];
static struct subscription *subscriptions[HASH_PARTS];
static size_t client_total;
static size_t pattern_bytes;
static struct list pubsub_iters = { &pubsub_iters, &pubsub_iters };

size_t pubsub_pattern_bytes(void) {
    return pattern_bytes;
}

static struct topic *find_topic(enum pubsub_kind kind, struct slice name) {
    struct topic *t;

    PARTS_FIND(hh, topics[kind], name.ptr, name.len, t);
    return t;
}

/* The pattern counts for its user from now on (change 1), or no longer (-1). */
static void count_pattern(const struct topic *t, int change) {
    size_t bytes = t->name.len * (size_t)change;

    pattern_bytes += bytes;
    t->user->channel_patterns += (size_t)change;
    t->user->channel_pattern_bytes += bytes;
}

static struct topic *get_topic(enum pubsub_kind kind, struct slice name, struct user *u) {
    struct topic *t = find_topic(kind, name);

    if (t != NULL)
        return t;
    t = xcalloc(1, sizeof *t);
    t->name = (struct slice){ xmemdup(name.ptr, name.len), name.len };
    list_init(&t->listeners);
    PARTS_ADD(hh, topics[kind], t->name.ptr, t->name.len, t);
    list_push_back(&in_order[kind], &t->in_kind);
    topic_counts[kind]++;
    if (kind == PUBSUB_PATTERN) {
        t->user = user_hold(u);
        count_pattern(t, 1);
    }
    return t;
}

static void leave_topic(enum pubsub_kind kind, struct topic *t) {
    if (--t->count > 0)
        return;
    LIST_EACH(node, &pubsub_iters) {
        struct pubsub_iter *w = LIST_ENTRY(node, struct pubsub_iter, node);

        if (w->next == &t->in_kind)
            w->next = t->in_kind.next;
    }
    PARTS_DELETE(hh, topics[kind], t);
    list_remove(&t->in_kind);
    topic_counts[kind]--;
    if (t->user != NULL) {
        count_pattern(t, -1);
        user_release(t->user);
    }
    free((char *)t->name.ptr);
    free(t);
}

static struct subscription *pubsub_find(const struct client *c, struct topic *t) {
    struct subscription_key key = { c->pubsub, t };
    struct subscription *s;

    if (c->pubsub == NULL || t == NULL)
        return NULL;
    PARTS_FIND(hh, subscriptions, &key, sizeof key, s);
    return s;
}

/* The memory of a subscription. Each subscriber counts the whole topic. */
static size_t pubsub_size_of(const struct topic *t) {
    return sizeof(struct subscription) + sizeof *t + t->name.len;
}

static void attach(struct client *c) {
    c->pubsub = xcalloc(1, sizeof *c->pubsub);
    c->pubsub->client = c;
    for (int kind = 0; kind < PUBSUB_KINDS; kind++)
        list_init(&c->pubsub->kinds[kind]);
    client_total++;
}

bool pubsub_subscribe(struct client *c, enum pubsub_kind kind, struct slice name) {
    struct topic *t = get_topic(kind, name, c->user);
    struct subscription *s = pubsub_find(c, t);

    if (s != NULL)
        return false;
    if (c->pubsub == NULL)
        attach(c);
    memory_change(&c->share, MEMORY_SUBSCRIPTIONS, 0, pubsub_size_of(t));
    s = xcalloc(1, sizeof *s);
    s->key = (struct subscription_key){ c->pubsub, t };
    t->count++;
    list_push_back(&t->listeners, &s->in_topic);
    list_push_back(&c->pubsub->kinds[kind], &s->in_client);
    c->pubsub->counts[kind]++;
    PARTS_ADD(hh, subscriptions, &s->key, sizeof s->key, s);
    return true;
}

static void pubsub_drop(enum pubsub_kind kind, struct subscription *s) {
    struct pubsub *p = s->key.of;

    memory_change(p->client != NULL ? &p->client->share : NULL, MEMORY_SUBSCRIPTIONS,
                  pubsub_size_of(s->key.topic), 0);
    PARTS_DELETE(hh, subscriptions, s);
    list_remove(&s->in_client);
    p->counts[kind]--;
    list_remove(&s->in_topic);
    leave_topic(kind, s->key.topic);
    free(s);
}

static struct subscription *first_of(const struct pubsub *p, enum pubsub_kind kind) {
    return list_empty(&p->kinds[kind]) ? NULL
                                       : LIST_ENTRY(p->kinds[kind].next, struct subscription, in_client);
}

static struct subscription *any_of(const struct pubsub *p, enum pubsub_kind *kind) {
    *kind = list_empty(&p->kinds[PUBSUB_CHANNEL]) ? PUBSUB_PATTERN : PUBSUB_CHANNEL;
    return first_of(p, *kind);
}

/* Separates p from its client, which gets no more messages. */
static void detach(struct pubsub *p) {
    struct memory_share *share = &p->client->share;

    memory_leave(share, MEMORY_SUBSCRIPTIONS, share->kinds[MEMORY_SUBSCRIPTIONS]);
    p->client->pubsub = NULL;
    p->client = NULL;
    client_total--;
}

bool pubsub_unsubscribe(struct client *c, enum pubsub_kind kind, struct slice name) {
    struct subscription *s = pubsub_find(c, find_topic(kind, name));

    if (s == NULL)
        return false;
    pubsub_drop(kind, s);
    if (any_of(c->pubsub, &kind) == NULL) {
        struct pubsub *p = c->pubsub;

        detach(p);
        free(p);
    }
    return true;
}

const struct slice *pubsub_any(const struct client *c, enum pubsub_kind kind) {
    const struct subscription *s = c->pubsub == NULL ? NULL : first_of(c->pubsub, kind);

    return s == NULL ? NULL : &s->key.topic->name;
}

bool pubsub_all(const struct client *c, enum pubsub_kind kind,
                bool (*fits)(const struct client *c, struct slice name)) {
    if (c->pubsub == NULL)
        return true;
    LIST_EACH(node, &c->pubsub->kinds[kind]) {
        if (!fits(c, LIST_ENTRY(node, struct subscription, in_client)->key.topic->name))
            return false;
    }
    return true;
}

static bool drop_some(struct long_work *w) {
    struct pubsub *p = CONTAINER_OF(w, struct pubsub, work);
    struct subscription *s;
    enum pubsub_kind kind;

    for (int left = LONG_WORK_NAMES; left > 0 && (s = any_of(p, &kind)) != NULL; left--)
        pubsub_drop(kind, s);
    if (any_of(p, &kind) != NULL)
        return true;
    free(p);
    return false;
}

void pubsub_unsubscribe_all(struct client *c) {
    struct pubsub *p = c->pubsub;

    if (p == NULL)
        return;
    detach(p);
    long_work_begin(&p->work, NULL, drop_some);
}

size_t pubsub_count(const struct client *c, enum pubsub_kind kind) {
    return c->pubsub == NULL ? 0 : c->pubsub->counts[kind];
}

/* ---- messages ---- */

/* Messages of at least this size are shared by their subscribers, in one copy. */
#define SHARED_BYTES ((size_t)1024)

/* The bytes of a message, built once for each protocol version. */
struct form {
    struct buf bytes;
    bool made;
    struct message *shared; /* NULL: the message is short */
};

static void pubsub_make(struct buf *out, int proto, const struct topic *pattern, struct slice channel,
                        struct slice message) {
    resp_push(out, pattern != NULL ? 4 : 3, proto);
    resp_bulk_str(out, pattern != NULL ? "pmessage" : "message");
    if (pattern != NULL)
        resp_bulk(out, pattern->name);
    resp_bulk(out, channel);
    resp_bulk(out, message);
}

static void pubsub_push(struct client *c, const struct form *f) {
    if (f->shared != NULL)
        client_push_shared(c, f->shared);
    else
        client_push(c, buf_ptr(&f->bytes), buf_len(&f->bytes));
}

static void pubsub_finish(struct form *f) {
    f->made = true;
    if (buf_len(&f->bytes) >= SHARED_BYTES)
        f->shared = message_new((struct slice){ buf_ptr(&f->bytes), buf_len(&f->bytes) });
}

static void form_free(struct form *f) {
    buf_free(&f->bytes);
    if (f->shared != NULL)
        message_release(f->shared);
}

/* The right of the command that subscribes. */
static unsigned right_to_subscribe(enum pubsub_kind kind) {
    static const char *const names[PUBSUB_KINDS] = { "subscribe", "psubscribe" };
    static int rights[PUBSUB_KINDS] = { -1, -1 };

    if (rights[kind] < 0)
        rights[kind] = right_find(slice_str(names[kind]));
    return (unsigned)rights[kind];
}

/* The length of the prefix of a channel about a queue; 0: it is no such channel. */
static size_t prefix_of(struct slice channel) {
    static const struct slice prefixes[] = { SLICE(EVENTS_PREFIX), SLICE(CANCEL_PREFIX) };

    for (size_t i = 0; i < LENGTH(prefixes); i++)
        if (channel.len >= prefixes[i].len && memcmp(channel.ptr, prefixes[i].ptr, prefixes[i].len) == 0)
            return prefixes[i].len;
    return 0;
}

bool pubsub_may_receive(const struct user *u, enum pubsub_kind kind, struct slice channel) {
    size_t len = u == NULL || u->all ? 0 : prefix_of(channel);

    if (len == 0)
        return true;
    return user_may_queue(u, right_to_subscribe(kind), ACL_READ,
                          (struct slice){ channel.ptr + len, channel.len - len });
}

static size_t deliver_to(struct topic *t, bool pattern, struct slice channel, struct slice message) {
    struct form forms[2] = { 0 };
    size_t count = 0;

    LIST_EACH(node, &t->listeners) {
        struct client *c = LIST_ENTRY(node, struct subscription, in_topic)->key.of->client;
        struct form *form;

        if (c == NULL || c->state != CLIENT_OPEN ||
            !pubsub_may_receive(c->user, pattern ? PUBSUB_PATTERN : PUBSUB_CHANNEL, channel))
            continue;
        form = &forms[c->proto == 3];
        if (!form->made) {
            pubsub_make(&form->bytes, c->proto, pattern ? t : NULL, channel, message);
            pubsub_finish(form);
        }
        pubsub_push(c, form);
        count++;
    }
    form_free(&forms[0]);
    form_free(&forms[1]);
    return count;
}

size_t pubsub_deliver(struct slice channel, struct slice message) {
    struct topic *t = find_topic(PUBSUB_CHANNEL, channel);
    size_t count = t == NULL ? 0 : deliver_to(t, false, channel, message);

    LIST_EACH(node, &in_order[PUBSUB_PATTERN]) {
        t = LIST_ENTRY(node, struct topic, in_kind);
        if (glob_match(t->name, channel, false))
            count += deliver_to(t, true, channel, message);
    }
    return count;
}

void pubsub_init(void (*tell_others)(struct slice channel, struct slice message)) {
    forward = tell_others;
}

size_t pubsub_publish(struct slice channel, struct slice message) {
    if (forward != NULL && channel.len + message.len <= PUBSUB_MESSAGE_MAX)
        forward(channel, message);
    return pubsub_deliver(channel, message);
}

/* ---- numbers and names ---- */

size_t pubsub_topics(enum pubsub_kind kind) {
    return topic_counts[kind];
}

void pubsub_iter_begin(struct pubsub_iter *w) {
    w->next = in_order[PUBSUB_CHANNEL].next;
    list_push_back(&pubsub_iters, &w->node);
}

const struct slice *pubsub_iter_next(struct pubsub_iter *w) {
    const struct topic *t = LIST_ENTRY(w->next, struct topic, in_kind);

    if (w->next == &in_order[PUBSUB_CHANNEL])
        return NULL;
    w->next = w->next->next;
    return &t->name;
}

void pubsub_iter_end(struct pubsub_iter *w) {
    list_remove(&w->node);
}

size_t pubsub_listeners(struct slice channel) {
    const struct topic *t = find_topic(PUBSUB_CHANNEL, channel);

    return t == NULL ? 0 : t->count;
}

size_t pubsub_clients(void) {
    return client_total;
}
