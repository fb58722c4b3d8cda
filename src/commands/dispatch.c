/* The table of commands: looks up, checks, runs and counts commands. */
#include "commands/dispatch.h"

#include <string.h>
#include "base/clock.h"
#include "base/latency.h"
#include "base/log.h"
#include "base/slowlog.h"
#include "base/spelling.h"
#include "base/stats.h"
#include "base/turn.h"
#include "commands/cmd_monitor.h"
#include "commands/multi.h"
#include "commands/refused.h"
#include "commands/rights.h"
#include "config/config.h"
#include "jobs/bootstrap.h"
#include "net/args.h"
#include "net/usage.h"

/* Maximum bytes of an unknown command's name in the error. */
#define NAME_SHOWN 128

static const struct command commands[] = {
#define CMD(id, name, arity, flags, order, group, args, summary) \
    { COMMAND_##id, name, arity, flags, order, cmd_##id, group, args, summary },
#include "commands/commands.def"
#undef CMD
};

static struct command_stats counters[LENGTH(commands)];

/* A hash table of the names: index in table plus 1, or 0 if the slot is free. It has more than twice as many slots as
 * commands, so that chains are short. */
#define SLOTS 512
static unsigned char slots[SLOTS];

_Static_assert(LENGTH(commands) < SLOTS / 2, "the hash table of command names is too full");

/* FNV-1a over the lower-case bytes. */
static unsigned name_hash(struct slice name) {
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];

        h = (h ^ (c >= 'A' && c <= 'Z' ? c + 32u : c)) * 16777619u;
    }
    return (h ^ (h >> 16)) % SLOTS;
}

static void fill_slots(void) {
    for (size_t i = 0; i < LENGTH(commands); i++) {
        unsigned at = name_hash(slice_str(commands[i].name));

        while (slots[at] != 0)
            at = (at + 1) % SLOTS;
        slots[at] = (unsigned char)(i + 1);
    }
}

const struct command *command_lookup(struct slice name) {
    static bool filled;

    if (!filled) {
        fill_slots();
        filled = true;
    }
    for (unsigned at = name_hash(name); slots[at] != 0; at = (at + 1) % SLOTS) {
        const struct command *cmd = &commands[slots[at] - 1];

        if (slice_is(name, cmd->name))
            return cmd;
    }
    return NULL;
}

const struct command *command_table(size_t *count) {
    *count = LENGTH(commands);
    return commands;
}

struct command_stats *command_stats(const struct command *cmd) {
    return &counters[cmd - commands];
}

void command_stats_reset(void) {
    memset(counters, 0, sizeof counters);
}

static void slowlog_resize(void) {
    slowlog_set_max_len((size_t)config.slowlog_max_len);
}

void command_init(void) {
    rights_init();
    slowlog_resize();
    config_on_change("slowlog-max-len", slowlog_resize);
}

bool arity_fits(int arity, int argc) {
    return arity > 0 ? argc == arity : argc >= -arity;
}

bool command_arity_fits(const struct command *cmd, int argc) {
    return arity_fits(cmd->arity, argc);
}

bool command_authenticated(const struct client *c) {
    return c->authenticated || users_need_no_login();
}

/* Secrets, also in malformed commands. */

static bool is_word(const struct req *r, int i, const char *word) {
    return i >= 1 && slice_is(r->argv[i], word);
}

/* HELLO [protover] AUTH username password */
static bool hello_secret(const struct req *r, int i) {
    return is_word(r, i - 1, "auth") || is_word(r, i - 2, "auth");
}

/* CONFIG SET name value [name value ...] */
static bool config_secret(const struct req *r, int i) {
    const struct config_option *o = i >= 3 && is_word(r, 1, "set") ? config_find(r->argv[i - 1]) : NULL;

    return o != NULL && (o->flags & OPT_SECRET) != 0;
}

/* ACL SETUSER name rule ...: a rule may be a password. The names of users are not shown, as in Redis. */
static bool acl_secret(const struct req *r, int i) {
    return i >= 2 && (is_word(r, 1, "setuser") || is_word(r, 1, "deluser") || is_word(r, 1, "getuser"));
}

bool command_arg_is_secret(const struct req *r, int i) {
    if (r->cmd->handler == cmd_auth)
        return i >= 1;
    if (r->cmd->handler == cmd_hello)
        return hello_secret(r, i);
    if (r->cmd->handler == cmd_acl)
        return acl_secret(r, i);
    return r->cmd->handler == cmd_config && config_secret(r, i);
}

/* Commands of a client that may be in progress at the same time. */

static const struct req *last_unfinished(const struct client *c, const struct req *r) {
    for (const struct list *node = c->reqs.prev; node != &c->reqs; node = node->prev) {
        const struct req *earlier = LIST_ENTRY(node, const struct req, in_client);

        if (earlier != r && !earlier->done)
            return earlier;
    }
    return NULL;
}

static bool order_of(const struct req *r, enum command_order order) {
    return r->cmd != NULL && r->cmd->order == order;
}

/* In these functions the last unfinished request represents all before it. They were compatible with it when it
 * started. */
static bool joins_nothing(const struct client *c, const struct req *r, const struct req *last) {
    (void)c;
    (void)r;
    (void)last;
    return false;
}

/* Large adds travel on another connection, where they would not keep their places. */
static bool joins_adds(const struct client *c, const struct req *r, const struct req *last) {
    (void)c;
    return order_of(last, ORDER_ADD) && !r->large && !last->large;
}

/* An ACK waits for an ADD. Adds come first in a transaction, but the ADD may not fit into the next transaction. A
 * client may acknowledge a job after it has added the jobs that follow from it. These must not be lost. */
static bool joins_acks(const struct client *c, const struct req *r, const struct req *last) {
    (void)c;
    (void)r;
    return order_of(last, ORDER_ACK);
}

/* A client reads with one heavy statement at a time, so that clients of one user take turns. */
static bool joins_same_reads(const struct client *c, const struct req *r, const struct req *last) {
    (void)c;
    return last->cmd == r->cmd && !last->task.heavy;
}

/* Here the last request does not stand for all, because some ACKs may have been sent. The loop begins with the oldest
 * requests, which are sent first. */
static bool joins_unsent_acks(const struct client *c, const struct req *r, const struct req *last) {
    (void)last;
    LIST_EACH(node, &c->reqs) {
        const struct req *earlier = LIST_ENTRY(node, const struct req, in_client);

        if (earlier == r || earlier->done)
            continue;
        if (!order_of(earlier, ORDER_ACK) || earlier->task.state != TASK_QUEUED)
            return false;
    }
    return true;
}

bool command_may_start(const struct client *c, const struct req *r) {
    static bool (*const joins[])(const struct client *, const struct req *, const struct req *) = {
        [ORDER_ALONE] = joins_nothing,   [ORDER_ADD] = joins_adds,        [ORDER_ACK] = joins_acks,
        [ORDER_GET] = joins_unsent_acks, [ORDER_READ] = joins_same_reads,
    };
    const struct req *last = last_unfinished(c, r);

    return last == NULL || joins[r->cmd->order](c, r, last);
}

/* Execution. */

/*
 * A handler may end its request at once, and an ended request must not be used. But the slow log needs the arguments
 * after the handler has returned. Therefore the end of a request waits until its handler has returned and the slow
 * log has been written. Handlers nest if the end of a request starts another request.
 */
struct run {
    struct req *r;
    bool ended;
    struct run *outer;
};

static struct run *runs;

static void dispatch_finish(struct req *r) {
    r->done = true;
    if (r->failed)
        command_stats(r->cmd)->failed++;
    r->owner_on_end(r);
}

static void on_dispatch_end(struct req *r) {
    for (struct run *run = runs; run != NULL; run = run->outer) {
        if (run->r == r) {
            run->ended = true;
            r->done = false; /* otherwise it would count as written and be freed */
            return;
        }
    }
    dispatch_finish(r);
}

/* From the last argument on, because earlier arguments tell which later arguments are secret. */
static void hide_secrets(struct req *r) {
    for (int i = r->argc - 1; i > 0; i--) {
        if (command_arg_is_secret(r, i))
            r->argv[i] = SLICE("(redacted)");
    }
}

static void note_slow(const struct client *c, struct req *r, int64_t usec, bool ended) {
    if (config.slowlog_log_slower_than < 0 || usec < config.slowlog_log_slower_than)
        return;
    /* A request that goes on needs its arguments. Such a request has no secrets. */
    if (ended)
        hide_secrets(r);
    slowlog_add(r->argc, r->argv, usec, clock_unix(), c->addr, c->name == NULL ? "" : c->name);
}

static void note_latency(const struct command *cmd, int64_t usec) {
    int64_t ms = usec / US_PER_MS;

    if (config.latency_monitor_threshold > 0 && ms >= config.latency_monitor_threshold)
        latency_add(cmd->flags & CMD_FAST ? "fast-command" : "command", clock_unix() / US_PER_S, ms);
}

void command_run(struct client *c, struct req *r) {
    struct run self = { .r = r, .outer = runs };
    struct command_stats *counted = command_stats(r->cmd);
    int64_t start, usec;

    monitor_feed(c, r);
    c->last_cmd = r->cmd;
    r->owner_on_end = r->on_end;
    r->on_end = on_dispatch_end;
    r->started_us = clock_mono();
    runs = &self;
    start = clock_mono_now();
    r->cmd->handler(r);
    usec = clock_mono_now() - start;
    runs = self.outer;
    stats.commands_processed++;
    counted->calls++;
    counted->usec += (uint64_t)usec;
    turn_note_command(r->cmd->name, usec);
    note_latency(r->cmd, usec);
    note_slow(c, r, usec, self.ended);
    if (self.ended)
        dispatch_finish(r);
}

/* A web page can make a browser send a form to this port. The lines of the form would run as commands. Browsers
 * always send one of these two words before them. */
static bool is_http(struct slice name) {
    return slice_is(name, "post") || slice_is(name, "host:");
}

static struct slice nearest_command(struct slice name) {
    struct spelling s;

    spelling_init(&s, name);
    for (size_t i = 0; i < LENGTH(commands); i++)
        spelling_offer(&s, slice_str(commands[i].name));
    return s.nearest;
}

static void dispatch_reply_unknown(struct client *c, struct req *r) {
    static struct log_kind http;
    const struct refused *refused = refused_find(r->argv[0]);
    struct slice nearest;

    if (is_http(r->argv[0])) {
        log_sometimes(&http, LOG_WARNING_, client_ident(c),
                      "sent %s: a web page may be used to attack the server; closing",
                      log_escape(r->argv[0], NAME_SHOWN));
        client_kill(c, "sent an HTTP request");
        return;
    }
    if (refused != NULL) {
        reply_refused(r, refused);
        return;
    }
    nearest = nearest_command(r->argv[0]);
    reply_error(r, "ERR unknown command '%.*s'%s%.*s%s",
                (int)(r->argv[0].len < NAME_SHOWN ? r->argv[0].len : NAME_SHOWN), r->argv[0].ptr,
                nearest.len > 0 ? ", did you mean '" : "", (int)nearest.len, nearest.ptr,
                nearest.len > 0 ? "'?" : "");
}

bool command_names_fit_or_reply(struct req *r, const struct command *cmd) {
    int end = (int)(cmd->flags >> CMD_LONG_SHIFT);

    if (end == 0 || end > r->argc)
        end = r->argc;
    for (int i = 1; i < end; i++) {
        if (r->argv[i].len > NAME_MAX_BYTES) {
            reply_error(r, "LIMIT argument %d of '%s' must be at most %zu bytes long", i, cmd->name,
                        NAME_MAX_BYTES);
            return false;
        }
    }
    return true;
}

static bool needs_counters(const struct command *cmd) {
    return (cmd->flags & (CMD_UNCOUNTED | CMD_LOADING)) == 0;
}

/* Replies an error if r cannot run at all. False if r can run. */
static bool dispatch_refuse(struct client *c, struct req *r) {
    if (r->cmd == NULL) {
        dispatch_reply_unknown(c, r);
        return true;
    }
    if (!command_arity_fits(r->cmd, r->argc))
        usage_reply_arity(r);
    else if (!(r->cmd->flags & CMD_NOAUTH) && !command_authenticated(c))
        reply_error(r, "NOAUTH Authentication required.");
    else if (bootstrap_is_under_way() && !(r->cmd->flags & CMD_LOADING))
        reply_error(r, "LOADING pgdisque is connecting to its database");
    else if (bootstrap_counters() == COUNTERS_LATE && needs_counters(r->cmd))
        reply_error(r, "LOADING pgdisque is counting the jobs of its queues, try later");
    else if (c->pubsub != NULL && c->proto == 2 && !(r->cmd->flags & CMD_LISTENING))
        reply_error(
            r,
            "ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "
            "allowed in this context",
            r->cmd->name);
    else if (command_names_fit_or_reply(r, r->cmd) && (c->user->all || rights_allow_or_reply(r, r->cmd)))
        return false;
    command_stats(r->cmd)->rejected++;
    return true;
}

/* Applies the current settings of the connection to r. */
static void dispatch_prepare(const struct client *c, struct req *r) {
    r->cmd = command_lookup(r->argv[0]);
    r->proto = c->proto;
    req_set_user(r, c->user);
    r->silent = c->reply_mode != REPLY_ON;
    if (r->silent)
        r->out = &r->own; /* not the client's output, from which nothing can be removed */
}

/* Called when the request is not offered again. */
static void dispatch_take(struct client *c) {
    if (c->reply_mode == REPLY_SKIP_NEXT)
        c->reply_mode = REPLY_ON;
    c->last_active_us = clock_mono();
}

/* True for writes during CLIENT PAUSE ... WRITE. EXEC counts as a write. */
static bool is_paused(const struct req *r) {
    return ((r->cmd->flags & CMD_WRITE) || r->cmd->handler == cmd_exec) && clients_are_paused();
}

/* Between MULTI and EXEC only EXEC waits, because it runs the others. */
static bool awaits_counters(const struct client *c, const struct req *r) {
    if (bootstrap_counters() != COUNTERS_AWAITED)
        return false;
    if (c->multi != NULL)
        return r->cmd->handler == cmd_exec && c->multi->needs_counters;
    return needs_counters(r->cmd);
}

bool command_offer(struct client *c, struct req *r) {
    dispatch_prepare(c, r);
    if (dispatch_refuse(c, r)) {
        multi_spoil(c);
        dispatch_take(c);
        req_end(r);
        return true;
    }
    if (!command_may_start(c, r) || is_paused(r) || awaits_counters(c, r))
        return false;
    dispatch_take(c);
    if (multi_takes(c, r))
        req_end(r);
    else
        command_run(c, r);
    return true;
}
