/* SUBSCRIBE PSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE PUBLISH PUBSUB. */
#include <stdlib.h>
#include "args.h"
#include "command.h"
#include "match.h"
#include "pubsub.h"
#include "subcommand.h"

/* One of the replies of a command: what was done, to what, and to how much the client listens now. */
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

static void listen_to(struct req *r, enum pubsub_kind kind, const char *what) {
    for (int i = 1; i < r->argc; i++) {
        (void)pubsub_subscribe(r->client, kind, r->argv[i]);
        reply_listening(r, what, &r->argv[i]);
    }
    req_end(r);
}

/* The name goes with the last who listens to it. */
static void stop_any(struct req *r, enum pubsub_kind kind, const char *what, const struct slice *any) {
    struct slice name = { xmemdup(any->ptr, any->len), any->len };

    (void)pubsub_unsubscribe(r->client, kind, name);
    reply_listening(r, what, &name);
    free((char *)name.ptr);
}

static void stop_all(struct req *r, enum pubsub_kind kind, const char *what) {
    const struct slice *any = pubsub_any(r->client, kind);

    if (any == NULL)
        reply_listening(r, what, NULL);
    for (; any != NULL; any = pubsub_any(r->client, kind))
        stop_any(r, kind, what, any);
    req_end(r);
}

static void stop_listening(struct req *r, enum pubsub_kind kind, const char *what) {
    if (r->argc == 1) {
        stop_all(r, kind, what);
        return;
    }
    for (int i = 1; i < r->argc; i++) {
        (void)pubsub_unsubscribe(r->client, kind, r->argv[i]);
        reply_listening(r, what, &r->argv[i]);
    }
    req_end(r);
}

void cmd_subscribe(struct req *r) {
    listen_to(r, PUBSUB_CHANNEL, "subscribe");
}

void cmd_psubscribe(struct req *r) {
    if (args_patterns_or_reply(r, 1, RESP_MAX_ARGS))
        listen_to(r, PUBSUB_PATTERN, "psubscribe");
}

void cmd_unsubscribe(struct req *r) {
    stop_listening(r, PUBSUB_CHANNEL, "unsubscribe");
}

void cmd_punsubscribe(struct req *r) {
    stop_listening(r, PUBSUB_PATTERN, "punsubscribe");
}

void cmd_publish(struct req *r) {
    if (r->argv[1].len + r->argv[2].len > PUBSUB_MESSAGE_MAX) {
        req_error(r, "LIMIT a message and its channel have at most 1048576 bytes together");
        return;
    }
    req_int(r, (int64_t)pubsub_publish(r->argv[1], r->argv[2]));
}

/* ---- PUBSUB ---- */

static bool is_wanted(const struct req *r, const struct topic *t) {
    return r->argc < 3 || glob_match(r->argv[2], pubsub_name(t), false);
}

static void list_channels(struct req *r) {
    const struct topic *t = NULL;
    size_t count = 0;

    if (!args_patterns_or_reply(r, 2, 1))
        return;
    while ((t = pubsub_next(PUBSUB_CHANNEL, t)) != NULL)
        count += is_wanted(r, t);
    reply_array(r, count);
    while ((t = pubsub_next(PUBSUB_CHANNEL, t)) != NULL)
        if (is_wanted(r, t))
            reply_bulk(r, pubsub_name(t));
    req_end(r);
}

static void count_listeners(struct req *r) {
    reply_map(r, (size_t)r->argc - 2);
    for (int i = 2; i < r->argc; i++) {
        reply_bulk(r, r->argv[i]);
        reply_int(r, (int64_t)pubsub_listeners(r->argv[i]));
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

    if (!subcommand_run(r, members, LENGTH(members)))
        req_error(
            r, "ERR unknown subcommand or wrong number of arguments. Try PUBSUB CHANNELS, NUMSUB or NUMPAT.");
}
