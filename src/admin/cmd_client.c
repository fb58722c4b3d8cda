/* CLIENT: list, name, pause, unblock and close connections. */
#include <string.h>
#include "base/clock.h"
#include "commands/client_line.h"
#include "commands/cmd_pop.h"
#include "commands/dispatch.h"
#include "commands/subcommand.h"
#include "config/config.h"
#include "jobs/list_take.h"
#include "jobs/waitjob.h"
#include "net/connection.h"
#include "net/usage.h"
#include "queue/waiters.h"

/* Longer pauses are refused, so that adding them to the clock cannot overflow. */
#define PAUSE_MAX_MS (INT64_MAX / US_PER_MS / 2)

/* CLIENT LIST and INFO. */

/* Redis' types of clients. pgdisque has no clients of the other types. */
enum client_type { TYPE_ANY, TYPE_NORMAL, TYPE_PUBSUB, TYPE_OTHER };

static enum client_type type_of(const struct client *c) {
    return c->pubsub != NULL ? TYPE_PUBSUB : TYPE_NORMAL;
}

static void client_list_those(struct req *r, enum client_type type) {
    static const enum client_state states[] = { CLIENT_OPEN, CLIENT_CLOSING };
    struct buf text = { 0 };

    for (size_t i = 0; i < LENGTH(states); i++) {
        LIST_EACH(node, client_list(states[i])) {
            const struct client *c = LIST_ENTRY(node, struct client, in_state);

            if (type == TYPE_ANY || type_of(c) == type)
                client_describe(&text, c);
        }
    }
    req_text(r, &text);
}

static void list_all(struct req *r) {
    client_list_those(r, TYPE_ANY);
}

static void list_ids(struct req *r) {
    struct buf text = { 0 };

    for (int i = 3; i < r->argc; i++) {
        const struct client *c;
        int64_t id;

        if (!parse_int_strict(r->argv[i], &id) || id <= 0) {
            buf_free(&text);
            req_error(r, "ERR Invalid client ID");
            return;
        }
        c = client_by_id((uint64_t)id);
        if (c != NULL)
            client_describe(&text, c);
    }
    req_text(r, &text);
}

static bool client_type_or_reply(struct req *r, struct slice name, enum client_type *type) {
    static const struct {
        const char *name;
        enum client_type type;
    } types[] = { { "normal", TYPE_NORMAL },
                  { "pubsub", TYPE_PUBSUB },
                  { "master", TYPE_OTHER },
                  { "replica", TYPE_OTHER },
                  { "slave", TYPE_OTHER } };

    for (size_t i = 0; i < LENGTH(types); i++) {
        if (slice_is(name, types[i].name)) {
            *type = types[i].type;
            return true;
        }
    }
    usage_error(r, "ERR Unknown client type '%.*s', try normal, pubsub, replica or master", (int)name.len,
                name.ptr);
    return false;
}

static void list_of_type(struct req *r) {
    enum client_type type;

    if (client_type_or_reply(r, r->argv[3], &type))
        client_list_those(r, type);
}

static void client_list_some(struct req *r) {
    if (slice_is(r->argv[2], "id"))
        list_ids(r);
    else if (slice_is(r->argv[2], "type") && r->argc == 4)
        list_of_type(r);
    else
        usage_unexpected(r, 2);
}

static void client_info(struct req *r) {
    struct buf text = { 0 };

    client_describe(&text, r->client);
    req_text(r, &text);
}

static void client_id(struct req *r) {
    r->client->redis_handshake = true;
    req_int(r, (int64_t)r->client->id);
}

/* Names. */

static void client_getname(struct req *r) {
    if (r->client->name == NULL)
        reply_null_bulk(r);
    else
        reply_bulk_str(r, r->client->name);
    req_end(r);
}

static void client_setname(struct req *r) {
    if (!connection_name_or_reply(r, "Client names", r->argv[2]))
        return;
    connection_set_text(&r->client->name, r->argv[2]);
    r->client->redis_handshake = true;
    req_ok(r);
}

static void client_setinfo(struct req *r) {
    struct client *c = r->client;
    const struct {
        const char *option;
        char **text;
    } infos[] = { { "lib-name", &c->lib_name }, { "lib-ver", &c->lib_ver } };

    c->redis_handshake = true;
    for (size_t i = 0; i < LENGTH(infos); i++) {
        if (!slice_is(r->argv[2], infos[i].option))
            continue;
        if (!connection_name_or_reply(r, infos[i].option, r->argv[3]))
            return;
        connection_set_text(infos[i].text, r->argv[3]);
        req_ok(r);
        return;
    }
    usage_error(r, "ERR Unrecognized option '%.*s'", (int)r->argv[2].len, r->argv[2].ptr);
}

/* CLIENT KILL. */

struct kill {
    int64_t id; /* 0: any */
    const struct slice *addr;
    const struct slice *laddr;
    const struct user *user; /* NULL: any */
    enum client_type type;
    bool skip_me;
};

static bool kill_id(struct req *r, struct kill *k, const struct slice *value) {
    if (parse_int_strict(*value, &k->id) && k->id > 0)
        return true;
    usage_invalid(r, (int)(value - r->argv), "ERR client-id should be greater than 0");
    return false;
}

static bool kill_type(struct req *r, struct kill *k, const struct slice *value) {
    return client_type_or_reply(r, *value, &k->type);
}

static bool kill_addr(struct req *r, struct kill *k, const struct slice *value) {
    (void)r;
    k->addr = value;
    return true;
}

static bool kill_laddr(struct req *r, struct kill *k, const struct slice *value) {
    (void)r;
    k->laddr = value;
    return true;
}

static bool kill_user(struct req *r, struct kill *k, const struct slice *value) {
    k->user = user_find(*value);
    if (k->user != NULL)
        return true;
    req_error(r, "ERR No such user '%.*s'", (int)value->len, value->ptr);
    return false;
}

static bool kill_skipme(struct req *r, struct kill *k, const struct slice *value) {
    k->skip_me = slice_is(*value, "yes");
    if (k->skip_me || slice_is(*value, "no"))
        return true;
    usage_invalid(r, (int)(value - r->argv), SYNTAX_ERROR ": expected yes or no");
    return false;
}

static bool kill_option_or_reply(struct req *r, struct kill *k, int i) {
    static const struct {
        const char *name;
        bool (*parse)(struct req *, struct kill *, const struct slice *);
    } options[] = {
        { "id", kill_id },       { "type", kill_type }, { "addr", kill_addr },
        { "laddr", kill_laddr }, { "user", kill_user }, { "skipme", kill_skipme },
    };

    for (size_t o = 0; o < LENGTH(options) && i + 1 < r->argc; o++) {
        if (slice_is(r->argv[i], options[o].name))
            return options[o].parse(r, k, &r->argv[i + 1]);
    }
    usage_unexpected(r, i);
    return false;
}

static bool is_meant(const struct kill *k, const struct client *c, const struct client *me) {
    if ((k->type != TYPE_ANY && k->type != type_of(c)) || (k->skip_me && c == me))
        return false;
    if ((k->id != 0 && (uint64_t)k->id != c->id) || (k->user != NULL && k->user != c->user))
        return false;
    return (k->addr == NULL || slice_equal(*k->addr, slice_str(c->addr))) &&
           (k->laddr == NULL || slice_equal(*k->laddr, slice_str(c->laddr)));
}

static void kill_one(struct client *c, struct client *me) {
    if (c == me)
        client_close_after_replies(c); /* The reply to CLIENT KILL still leaves. */
    else
        client_kill(c, "killed by CLIENT KILL");
}

/* Returns the number of clients closed. Killing moves a client to a later state, so the later state is
 * scanned first. */
static int64_t kill_all(const struct kill *k, struct client *me) {
    static const enum client_state states[] = { CLIENT_CLOSING, CLIENT_OPEN };
    int64_t count = 0;

    for (size_t i = 0; i < LENGTH(states); i++) {
        LIST_EACH_SAFE(node, client_list(states[i])) {
            struct client *c = LIST_ENTRY(node, struct client, in_state);

            if (is_meant(k, c, me)) {
                kill_one(c, me);
                count++;
            }
        }
    }
    return count;
}

/* CLIENT KILL ip:port */
static void client_kill_addr(struct req *r) {
    struct kill k = { .addr = &r->argv[2] };

    if (kill_all(&k, r->client) > 0)
        req_ok(r);
    else
        req_error(r, "ERR No such client");
}

static void client_kill_where(struct req *r) {
    struct kill k = { .skip_me = true };

    for (int i = 2; i < r->argc; i += 2) {
        if (!kill_option_or_reply(r, &k, i))
            return;
    }
    req_int(r, kill_all(&k, r->client));
}

/* Pauses, reply modes, switches. */

static void client_pause(struct req *r) {
    int64_t ms;

    bool writes_only = r->argc == 4 && slice_is(r->argv[3], "write");

    if (r->argc == 4 && !writes_only && !slice_is(r->argv[3], "all"))
        usage_invalid(r, 3, "ERR CLIENT PAUSE mode must be WRITE or ALL");
    else if (!parse_int_strict(r->argv[2], &ms) || ms > PAUSE_MAX_MS)
        usage_invalid(r, 2, "ERR timeout is not an integer or out of range");
    else if (ms < 0)
        usage_invalid(r, 2, "ERR timeout is negative");
    else {
        client_pause_until(clock_mono() + ms * US_PER_MS, writes_only);
        req_ok(r);
    }
}

static void client_unpause(struct req *r) {
    client_pause_until(0, false);
    req_ok(r);
}

static void client_reply(struct req *r) {
    struct client *c = r->client;
    bool off = slice_is(r->argv[2], "off");

    if (slice_is(r->argv[2], "on")) {
        c->reply_mode = REPLY_ON;
        r->silent = false;
        req_ok(r);
        return;
    }
    if (!off && !slice_is(r->argv[2], "skip")) {
        usage_unexpected(r, 2);
        return;
    }
    if (off)
        c->reply_mode = REPLY_OFF;
    else if (c->reply_mode == REPLY_ON)
        c->reply_mode = REPLY_SKIP_NEXT;
    r->silent = true;
    req_end(r);
}

static void set_switch(struct req *r, bool *value) {
    bool on = slice_is(r->argv[2], "on");

    if (!on && !slice_is(r->argv[2], "off")) {
        usage_unexpected(r, 2);
        return;
    }
    *value = on;
    req_ok(r);
}

static void client_no_evict(struct req *r) {
    set_switch(r, &r->client->no_evict);
}

static void client_no_touch(struct req *r) {
    set_switch(r, &r->client->no_touch);
}

/* For clients that lose the text of a status reply: phpredis' rawCommand() turns it into true. */
static void client_job_id_reply(struct req *r) {
    static const struct {
        const char *word;
        enum job_id_reply reply;
    } replies[] = {
#define X(id, name) { name, id },
        JOB_ID_REPLIES(X)
#undef X
    };

    for (size_t i = 0; i < LENGTH(replies); i++) {
        if (!slice_is(r->argv[2], replies[i].word))
            continue;
        r->client->job_id_reply = replies[i].reply;
        req_ok(r);
        return;
    }
    usage_unexpected(r, 2);
}

static void client_unblock(struct req *r) {
    struct client *c;
    bool error = false;
    int64_t id;

    if (r->argc == 4) {
        error = slice_is(r->argv[3], "error");
        if (!error && !slice_is(r->argv[3], "timeout")) {
            usage_invalid(r, 3, "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
            return;
        }
    }
    if (!parse_int_strict(r->argv[2], &id)) {
        usage_invalid(r, 2, NOT_AN_INTEGER);
        return;
    }
    c = id > 0 ? client_by_id((uint64_t)id) : NULL;
    req_int(r, c != NULL &&
                   (waiters_unblock(c, error) || list_take_unblock(c, error) || waitjob_unblock(c, error)));
}

/* The other subcommands of Redis (TRACKING, CACHING, MAINT_NOTIFICATIONS, ...) must be errors. After an OK,
 * clients would wait for messages that never come. */
void cmd_client(struct req *r) {
    static const struct subcommand members[] = {
        { "LIST", 0, 0, list_all },
        { "LIST", 2, -1, client_list_some },
        { "INFO", 0, 0, client_info },
        { "ID", 0, 0, client_id },
        { "GETNAME", 0, 0, client_getname },
        { "SETNAME", 1, 1, client_setname },
        { "SETINFO", 2, 2, client_setinfo },
        { "KILL", 1, 1, client_kill_addr },
        { "KILL", 2, -1, client_kill_where },
        { "PAUSE", 1, 2, client_pause },
        { "UNPAUSE", 0, 0, client_unpause },
        { "REPLY", 1, 1, client_reply },
        { "NO-EVICT", 1, 1, client_no_evict },
        { "NO-TOUCH", 1, 1, client_no_touch },
        { "UNBLOCK", 1, 2, client_unblock },
        { "JOB-ID-REPLY", 1, 1, client_job_id_reply },
    };

    subcommand_run(r, members, LENGTH(members));
}
