/* Finds the subcommand that a request names, and runs it. */
#include "commands/subcommand.h"

#include "base/log.h"
#include "commands/dispatch.h"
#include "net/usage.h"

#define NAME_SHOWN 128

static bool takes_so_many(const struct subcommand *sub, const struct req *r) {
    int args = r->argc - 2;

    return args >= sub->min_args && (sub->max_args < 0 || args <= sub->max_args);
}

bool subcommand_find(struct req *r, const struct subcommand *table, size_t count) {
    for (size_t i = 0; i < count && r->argc > 1; i++) {
        if (takes_so_many(&table[i], r) && slice_is(r->argv[1], table[i].name)) {
            table[i].handler(r);
            return true;
        }
    }
    return false;
}

static bool subcommand_is_member(const struct req *r, const struct subcommand *table, size_t count) {
    for (size_t i = 0; i < count && r->argc > 1; i++)
        if (slice_is(r->argv[1], table[i].name))
            return true;
    return false;
}

static void subcommand_reply_unknown(struct req *r) {
    struct slice nearest = usage_nearest_member(r);
    const char *shown = log_escape(r->argv[1], NAME_SHOWN);

    if (nearest.len > 0)
        reply_error(r, "ERR unknown subcommand %s, did you mean %.*s? Try %s HELP.", shown, (int)nearest.len,
                    nearest.ptr, usage_name(r->cmd));
    else
        reply_error(r, "ERR unknown subcommand %s. Try %s HELP.", shown, usage_name(r->cmd));
}

static void subcommand_help(struct req *r) {
    if (r->argc == 2)
        usage_help(r);
    else
        req_error(r, "ERR wrong number of arguments for '%s|help' command", r->cmd->name);
}

void subcommand_run(struct req *r, const struct subcommand *table, size_t count) {
    if (subcommand_find(r, table, count))
        return;
    if (r->argc > 1 && slice_is(r->argv[1], "HELP")) {
        subcommand_help(r);
        return;
    }
    if (r->argc < 2 || subcommand_is_member(r, table, count))
        usage_reply_arity(r);
    else
        subcommand_reply_unknown(r);
    req_end(r);
}
