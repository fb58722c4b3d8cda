/* SUBSCRIBE PSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE PUBLISH PUBSUB: channels, patterns and messages. */
#include <stdlib.h>
#include "base/glob.h"
#include "base/time_budget.h"
#include "commands/dispatch.h"
#include "commands/subcommand.h"
#include "net/args.h"
#include "net/long_work.h"
#include "net/pubsub.h"

/* The reply for one name: the action, the name, and the number of the client's channels and patterns. */
static void reply_listening(struct req *r, const char *what, const struct slice *name) {
    resp_push(reply_buf(r), 3, r->proto);
    reply_bulk_str(r, what);
    if (name != NULL)
        reply_bulk(r, *name);
    else
        reply_null_bulk(r);
    reply_int(r,
              (int64_t)(pubsub_count(r->client, PUBSUB_CHANNEL) + pubsub_count(r->client, PUBSUB_PATTERN)));
}

/* A subscribe or unsubscribe command in progress. It may have a million names, so it runs in pieces. */
struct pubsub_change {
    struct long_work work;
    struct req *req;
    enum pubsub_kind kind;
    const char *what;
    bool (*apply)(struct client *c, enum pubsub_kind kind, struct slice name);
    int next; /* index of the next argument */
};

/* False if the command must end, or must wait until the client has read its replies. Sets ends for the first. */
static bool pubsub_may_go_on(struct pubsub_change *ch, bool *ends) {
    *ends = client_has_gone(ch->req->client);
    return !*ends && client_takes_more(ch->req->client, &ch->work);
}

static bool pubsub_ended(struct req *r) {
    req_end(r);
    return false;
}

static void apply_names(struct pubsub_change *ch, int most) {
    struct req *r = ch->req;

    for (int left = most; left > 0 && ch->next < r->argc; left--, ch->next++) {
        (void)ch->apply(r->client, ch->kind, r->argv[ch->next]);
        reply_listening(r, ch->what, &r->argv[ch->next]);
    }
}

static bool apply_some(struct long_work *w) {
    struct pubsub_change *ch = CONTAINER_OF(w, struct pubsub_change, work);
    struct req *r = ch->req;
    bool ends;

    if (!pubsub_may_go_on(ch, &ends))
        return ends ? pubsub_ended(r) : true;
    apply_names(ch, LONG_WORK_NAMES);
    return ch->next < r->argc || pubsub_ended(r);
}

static struct pubsub_change *change_new(struct req *r, enum pubsub_kind kind, const char *what) {
    struct pubsub_change *ch = req_alloc(r, sizeof *ch);

    *ch = (struct pubsub_change){ .req = r, .kind = kind, .what = what, .next = 1 };
    return ch;
}

static void listen_to(struct req *r, enum pubsub_kind kind, const char *what,
                      bool (*step)(struct long_work *w)) {
    struct pubsub_change *ch = change_new(r, kind, what);

    ch->apply = pubsub_subscribe;
    long_work_begin(&ch->work, r->task.turn.user, step);
}

/* Copies the name, because the last unsubscribe frees it. */
static void stop_any(struct req *r, enum pubsub_kind kind, const char *what, const struct slice *any) {
    struct slice name = { xmemdup(any->ptr, any->len), any->len };

    (void)pubsub_unsubscribe(r->client, kind, name);
    reply_listening(r, what, &name);
    free((char *)name.ptr);
}

static bool stop_some(struct long_work *w) {
    struct pubsub_change *ch = CONTAINER_OF(w, struct pubsub_change, work);
    struct req *r = ch->req;
    const struct slice *any;
    bool ends;

    if (!pubsub_may_go_on(ch, &ends))
        return ends ? pubsub_ended(r) : true;
    for (int left = LONG_WORK_NAMES; left > 0 && (any = pubsub_any(r->client, ch->kind)) != NULL; left--)
        stop_any(r, ch->kind, ch->what, any);
    return pubsub_any(r->client, ch->kind) != NULL || pubsub_ended(r);
}

static void stop_listening(struct req *r, enum pubsub_kind kind, const char *what) {
    struct pubsub_change *ch = change_new(r, kind, what);

    ch->apply = pubsub_unsubscribe;
    if (r->argc == 1 && pubsub_any(r->client, kind) == NULL) {
        reply_listening(r, what, NULL);
        req_end(r);
        return;
    }
    long_work_begin(&ch->work, r->task.turn.user, r->argc == 1 ? stop_some : apply_some);
}

static bool channels_fit_or_reply(struct req *r, int from, int to) {
    for (int i = from; i < to; i++)
        if (!args_fit_or_reply(r, "the name of a channel", r->argv[i], PUBSUB_CHANNEL_MAX))
            return false;
    return true;
}

void cmd_subscribe(struct req *r) {
    if (channels_fit_or_reply(r, 1, r->argc))
        listen_to(r, PUBSUB_CHANNEL, "subscribe", apply_some);
}

static bool patterns_fit_or_reply(struct req *r) {
    const struct user *u = r->client->user;
    size_t names = (size_t)r->argc - 1, bytes = 0;

    for (int i = 1; i < r->argc; i++)
        bytes += r->argv[i].len;
    if (names + pubsub_count(r->client, PUBSUB_PATTERN) > PUBSUB_PATTERNS_EACH)
        req_error(r, "LIMIT a client listens to at most %d patterns", PUBSUB_PATTERNS_EACH);
    else if (names + pubsub_topics(PUBSUB_PATTERN) > PUBSUB_PATTERNS_ALL)
        req_error(r, "LIMIT all clients together listen to at most %d patterns", PUBSUB_PATTERNS_ALL);
    else if (bytes + pubsub_pattern_bytes() > PUBSUB_PATTERN_BYTES)
        req_error(r, "LIMIT the patterns of all clients together have at most 1048576 bytes");
    else if (!u->all && names + u->channel_patterns > PUBSUB_PATTERNS_ALL / PUBSUB_USER_PART)
        req_error(r, "LIMIT the clients of a user with limited rights listen to at most 8192 patterns");
    else if (!u->all && bytes + u->channel_pattern_bytes > PUBSUB_PATTERN_BYTES / PUBSUB_USER_PART)
        req_error(r, "LIMIT the patterns of a user with limited rights have at most 131072 bytes");
    else
        return true;
    return false;
}

/* Subscribes to all patterns in one step, at most PUBSUB_PATTERNS_EACH. So no other command takes the room between the
 * comparison with the limits and the last pattern. */
static bool apply_patterns(struct long_work *w) {
    struct pubsub_change *ch = CONTAINER_OF(w, struct pubsub_change, work);
    struct req *r = ch->req;
    bool ends;

    if (!pubsub_may_go_on(ch, &ends))
        return ends ? pubsub_ended(r) : true;
    if (!patterns_fit_or_reply(r))
        return false;
    apply_names(ch, PUBSUB_PATTERNS_EACH);
    return pubsub_ended(r);
}

void cmd_psubscribe(struct req *r) {
    if (r->argc - 1 > PUBSUB_PATTERNS_EACH)
        req_error(r, "LIMIT a client listens to at most %d patterns", PUBSUB_PATTERNS_EACH);
    else if (args_patterns_or_reply(r, 1, PUBSUB_PATTERNS_EACH))
        listen_to(r, PUBSUB_PATTERN, "psubscribe", apply_patterns);
}

void cmd_unsubscribe(struct req *r) {
    stop_listening(r, PUBSUB_CHANNEL, "unsubscribe");
}

void cmd_punsubscribe(struct req *r) {
    stop_listening(r, PUBSUB_PATTERN, "punsubscribe");
}

void cmd_publish(struct req *r) {
    if (!channels_fit_or_reply(r, 1, 2))
        return;
    if (r->argv[1].len + r->argv[2].len > PUBSUB_MESSAGE_MAX) {
        req_error(r, "LIMIT a message and its channel have at most 1048576 bytes together");
        return;
    }
    req_int(r, (int64_t)pubsub_publish(r->argv[1], r->argv[2]));
}

/* ---- PUBSUB ---- */

/* The reply has the number of names before the names. It is known only at the end. */
struct channels {
    struct long_work work;
    struct req *req;
    struct pubsub_iter iter;
    struct buf found;
    size_t count;
};

/* Other clients' names are shown to users who may subscribe to them. */
static bool pubsub_may_see(const struct req *r, struct slice name) {
    return req_may_channel(r, name, false) && pubsub_may_receive(r->user, PUBSUB_CHANNEL, name);
}

static bool pubsub_is_wanted(const struct req *r, struct slice name) {
    return (r->argc < 3 || glob_match(r->argv[2], name, false)) && pubsub_may_see(r, name);
}

static bool channels_end(struct channels *ch) {
    pubsub_iter_end(&ch->iter);
    reply_array(ch->req, ch->count);
    buf_append(reply_buf(ch->req), buf_ptr(&ch->found), buf_len(&ch->found));
    buf_free(&ch->found);
    return pubsub_ended(ch->req);
}

static bool list_some_channels(struct long_work *w) {
    struct channels *ch = CONTAINER_OF(w, struct channels, work);
    const struct slice *name;

    struct budget piece = budget_of(LONG_WORK_US);

    while (!budget_is_over(&piece)) {
        name = client_has_gone(ch->req->client) ? NULL : pubsub_iter_next(&ch->iter);
        if (name == NULL)
            return channels_end(ch);
        if (!pubsub_is_wanted(ch->req, *name))
            continue;
        resp_bulk(&ch->found, *name);
        ch->count++;
    }
    return true;
}

static void list_channels(struct req *r) {
    struct channels *ch = req_alloc(r, sizeof *ch);

    if (!args_patterns_or_reply(r, 2, 1))
        return;
    ch->req = r;
    pubsub_iter_begin(&ch->iter);
    long_work_begin(&ch->work, r->task.turn.user, list_some_channels);
}

static void count_listeners(struct req *r) {
    if (!args_names_or_reply(r, 2, NAMES_IN_A_TURN))
        return;
    reply_array(r, 2 * ((size_t)r->argc - 2));
    for (int i = 2; i < r->argc; i++) {
        reply_bulk(r, r->argv[i]);
        reply_int(r, pubsub_may_see(r, r->argv[i]) ? (int64_t)pubsub_listeners(r->argv[i]) : 0);
    }
    req_end(r);
}

static void count_patterns(struct req *r) {
    req_int(r, (int64_t)pubsub_topics(PUBSUB_PATTERN));
}

void cmd_pubsub(struct req *r) {
    static const struct subcommand members[] = {
        { "CHANNELS", 0, 1, list_channels },
        { "NUMSUB", 0, -1, count_listeners },
        { "NUMPAT", 0, 0, count_patterns },
    };

    subcommand_run(r, members, LENGTH(members));
}
