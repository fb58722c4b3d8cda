/* Channels and who listens: messages are written to clients and forgotten. */
#include "net/pubsub.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/match.h"
#include "net/long_work.h"
#include "net/resp.h"

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
    struct pubsub *of;
};

/* What a client listens to; none has an empty one. */
struct pubsub {
    struct client *client; /* NULL: it listens no more, and work takes the subscriptions away */
    struct subscription *kinds[PUBSUB_KINDS];
    struct long_work work;
};

static void (*forward)(struct slice channel, struct slice message);
static struct topic *topics[PUBSUB_KINDS];
static size_t client_total;
static size_t pattern_bytes;
static struct list walks = { &walks, &walks };

size_t pubsub_pattern_bytes(void) {
    return pattern_bytes;
}

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
    pattern_bytes += kind == PUBSUB_PATTERN ? name.len : 0;
    return t;
}

static void leave_topic(enum pubsub_kind kind, struct topic *t) {
    if (--t->count > 0)
        return;
    LIST_EACH(node, &walks) {
        struct pubsub_walk *w = LIST_ENTRY(node, struct pubsub_walk, node);

        if (w->next == t)
            w->next = t->hh.next;
    }
    HASH_DELETE(hh, topics[kind], t);
    pattern_bytes -= kind == PUBSUB_PATTERN ? t->name.len : 0;
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

/* Each who listens is charged with the whole. */
static size_t size_of(const struct topic *t) {
    return sizeof(struct subscription) + sizeof *t + t->name.len;
}

bool pubsub_subscribe(struct client *c, enum pubsub_kind kind, struct slice name) {
    struct topic *t = get_topic(kind, name);
    struct subscription *s = find(c, kind, t);

    if (s != NULL)
        return false;
    if (c->pubsub == NULL) {
        c->pubsub = xcalloc(1, sizeof *c->pubsub);
        c->pubsub->client = c;
        client_total++;
    }
    memory_change(&c->share, MEMORY_SUBSCRIPTIONS, 0, size_of(t));
    s = xcalloc(1, sizeof *s);
    s->topic = t;
    s->of = c->pubsub;
    t->count++;
    list_push_back(&t->listeners, &s->in_topic);
    HASH_ADD(hh, c->pubsub->kinds[kind], topic, sizeof s->topic, s);
    return true;
}

static void drop(enum pubsub_kind kind, struct subscription *s) {
    memory_change(s->of->client != NULL ? &s->of->client->share : NULL, MEMORY_SUBSCRIPTIONS,
                  size_of(s->topic), 0);
    HASH_DELETE(hh, s->of->kinds[kind], s);
    list_remove(&s->in_topic);
    leave_topic(kind, s->topic);
    free(s);
}

static struct subscription *any_of(const struct pubsub *p, enum pubsub_kind *kind) {
    *kind = p->kinds[PUBSUB_CHANNEL] != NULL ? PUBSUB_CHANNEL : PUBSUB_PATTERN;
    return p->kinds[*kind];
}

/* No message comes to its client any more. */
static void detach(struct pubsub *p) {
    struct memory_share *share = &p->client->share;

    memory_leave(share, MEMORY_SUBSCRIPTIONS, share->kinds[MEMORY_SUBSCRIPTIONS]);
    p->client->pubsub = NULL;
    p->client = NULL;
    client_total--;
}

bool pubsub_unsubscribe(struct client *c, enum pubsub_kind kind, struct slice name) {
    struct subscription *s = find(c, kind, find_topic(kind, name));

    if (s == NULL)
        return false;
    drop(kind, s);
    if (any_of(c->pubsub, &kind) == NULL) {
        struct pubsub *p = c->pubsub;

        detach(p);
        free(p);
    }
    return true;
}

const struct slice *pubsub_any(const struct client *c, enum pubsub_kind kind) {
    return c->pubsub == NULL || c->pubsub->kinds[kind] == NULL ? NULL : &c->pubsub->kinds[kind]->topic->name;
}

static bool drop_some(struct long_work *w) {
    struct pubsub *p = CONTAINER_OF(w, struct pubsub, work);
    struct subscription *s;
    enum pubsub_kind kind;

    for (int left = LONG_WORK_NAMES; left > 0 && (s = any_of(p, &kind)) != NULL; left--)
        drop(kind, s);
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
    long_work_begin(&p->work, drop_some);
}

size_t pubsub_count(const struct client *c, enum pubsub_kind kind) {
    return c->pubsub == NULL ? 0 : HASH_COUNT(c->pubsub->kinds[kind]);
}

/* ---- messages ---- */

/* From so many bytes on, those who listen share one copy. */
#define SHARED_BYTES ((size_t)1024)

/* As it is written, for each protocol made once. */
struct form {
    struct buf bytes;
    bool made;
    struct message *shared; /* NULL: it is short */
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

static void push(struct client *c, const struct form *f) {
    if (f->shared != NULL)
        client_push_shared(c, f->shared);
    else
        client_push(c, buf_ptr(&f->bytes), buf_len(&f->bytes));
}

static void finish(struct form *f) {
    f->made = true;
    if (buf_len(&f->bytes) >= SHARED_BYTES)
        f->shared = message_new((struct slice){ buf_ptr(&f->bytes), buf_len(&f->bytes) });
}

static void form_free(struct form *f) {
    buf_free(&f->bytes);
    if (f->shared != NULL)
        message_release(f->shared);
}

static size_t deliver_to(struct topic *t, bool pattern, struct slice channel, struct slice message) {
    struct form forms[2] = { 0 };
    size_t count = 0;

    LIST_EACH(node, &t->listeners) {
        struct client *c = LIST_ENTRY(node, struct subscription, in_topic)->of->client;
        struct form *form;

        if (c == NULL || c->state != CLIENT_OPEN)
            continue;
        form = &forms[c->proto == 3];
        if (!form->made) {
            make(&form->bytes, c->proto, pattern ? t : NULL, channel, message);
            finish(form);
        }
        push(c, form);
        count++;
    }
    form_free(&forms[0]);
    form_free(&forms[1]);
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

void pubsub_init(void (*tell_others)(struct slice channel, struct slice message)) {
    forward = tell_others;
}

size_t pubsub_publish(struct slice channel, struct slice message) {
    if (forward != NULL && channel.len + message.len <= PUBSUB_MESSAGE_MAX)
        forward(channel, message);
    return pubsub_deliver(channel, message);
}

/* ---- what there is ---- */

size_t pubsub_topics(enum pubsub_kind kind) {
    return HASH_COUNT(topics[kind]);
}

void pubsub_walk_begin(struct pubsub_walk *w) {
    w->next = topics[PUBSUB_CHANNEL];
    list_push_back(&walks, &w->node);
}

const struct slice *pubsub_walk_next(struct pubsub_walk *w) {
    struct topic *t = w->next;

    if (t == NULL)
        return NULL;
    w->next = t->hh.next;
    return &t->name;
}

void pubsub_walk_end(struct pubsub_walk *w) {
    list_remove(&w->node);
}

size_t pubsub_listeners(struct slice channel) {
    const struct topic *t = find_topic(PUBSUB_CHANNEL, channel);

    return t == NULL ? 0 : t->count;
}

size_t pubsub_clients(void) {
    return client_total;
}
