/* Commands that a client sends between MULTI and EXEC: queues or refuses them. */
#include "commands/multi.h"

#include <stdlib.h>

#include "commands/dispatch.h"
#include "commands/library_keys.h"
#include "commands/rights.h"
#include "commands/script.h"
#include "config/config.h"

/* All commands form one transaction. It is built in a turn and completed in another. Each takes some ten
 * milliseconds. */
#define MULTI_COMMANDS_MAX 20000

static void multi_free(struct multi *m) {
    for (size_t i = 0; i < m->count; i++)
        req_free(m->reqs[i]);
    free(m->reqs);
    free(m);
}

void multi_begin(struct client *c) {
    c->multi = xcalloc(1, sizeof *c->multi);
}

void multi_discard(struct client *c) {
    if (c->multi != NULL)
        multi_free(c->multi);
    c->multi = NULL;
}

void multi_spoil(struct client *c) {
    if (c->multi != NULL)
        c->multi->spoiled = true;
}

int multi_queued(const struct client *c) {
    return c->multi == NULL ? -1 : (int)c->multi->count;
}

static size_t multi_size_of(const struct req *r) {
    size_t bytes = sizeof *r + (size_t)r->argc * sizeof *r->argv;

    for (int i = 0; i < r->argc; i++)
        bytes += r->argv[i].len;
    return bytes;
}

/* A command that changes jobs or waits for them must be able to join the transaction. */
static bool is_refused(const struct req *r) {
    const struct right_sub *sub = rights_sub(rights_needed(r->cmd, r->argc, r->argv));
    unsigned flags = r->cmd->flags | (sub == NULL ? 0 : sub->flags & CMD_NO_MULTI);

    return (flags & CMD_NO_MULTI) != 0 ||
           ((flags & (CMD_WRITE | CMD_BLOCKING)) != 0 && (flags & CMD_JOINS) == 0);
}

/* The error if r cannot be queued, else NULL. */
static const char *refusal(const struct multi *m, const struct req *r) {
    if (r->cmd->handler == cmd_watch)
        return "ERR WATCH inside MULTI is not allowed";
    if (is_refused(r))
        return "ERR this command cannot be part of a transaction: send it before MULTI or after EXEC";
    if (m->count == MULTI_COMMANDS_MAX)
        return "LIMIT too many commands in one transaction: 20000 are allowed";
    if (m->bytes + multi_size_of(r) > config.client_query_buffer_limit)
        return "LIMIT the transaction is larger than client-query-buffer-limit";
    return NULL;
}

static void multi_keep(struct multi *m, struct req *r) {
    struct req *kept;

    if (m->count == m->cap) {
        m->cap = m->cap == 0 ? 8 : m->cap * 2;
        m->reqs = xrealloc(m->reqs, m->cap * sizeof *m->reqs);
    }
    m->bytes += multi_size_of(r);
    m->needs_counters |= (r->cmd->flags & CMD_UNCOUNTED) == 0 || (r->cmd->flags & CMD_KEYS_READ) != 0;
    kept = req_new(r->argc, r->argv, buf_len(&r->body) > 0 ? &r->body : NULL, NULL);
    kept->cmd = r->cmd;
    req_set_user(kept, r->user);
    kept->right = r->right;
    kept->none_is_empty = r->none_is_empty;
    kept->stale_is_none = r->stale_is_none;
    req_settle(r);
    req_join(kept, &r->client->share, MEMORY_MULTI);
    m->reqs[m->count++] = kept;
}

/* The handler of MULTI replies the error for a nested MULTI. QUIT and RESET end the transaction with the state of
 * the connection. */
static bool is_outside(const struct command *cmd) {
    return cmd->handler == cmd_multi || cmd->handler == cmd_exec || cmd->handler == cmd_discard ||
           cmd->handler == cmd_quit || cmd->handler == cmd_reset;
}

/* False if r cannot be part of the transaction: the error has been replied. */
static bool keep_or_reply(struct multi *m, struct req *r) {
    const struct command *cmd = script_is(r->cmd) ? script_command_or_reply(r) : r->cmd;
    const char *why;

    if (cmd == NULL)
        return false;
    r->cmd = cmd;
    if (!library_keys_fit_or_reply(r))
        return false;
    why = refusal(m, r);
    if (why == NULL)
        multi_keep(m, r);
    else
        reply_error(r, "%s", why);
    return why == NULL;
}

bool multi_takes(struct client *c, struct req *r) {
    const struct command *cmd = r->cmd;

    if (c->multi == NULL || is_outside(cmd))
        return false;
    if (keep_or_reply(c->multi, r)) {
        reply_status(r, "QUEUED");
    } else {
        multi_spoil(c);
        command_stats(cmd)->rejected++;
    }
    return true;
}
