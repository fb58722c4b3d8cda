/* CONFIG GET, SET, RESETSTAT, REWRITE. */
#include "acl/user.h"
#include "base/glob.h"
#include "base/log.h"
#include "base/stats.h"
#include "base/turn.h"
#include "commands/dispatch.h"
#include "commands/subcommand.h"
#include "config/config.h"
#include "net/args.h"
#include "net/usage.h"

#define ERR_SIZE 512
/* Limit for one request, because each pattern is compared with each option. */
#define PATTERNS_AT_ONCE 16

static bool matches(const struct req *r, const struct config_option *o) {
    for (int i = 2; i < r->argc; i++) {
        if (glob_match(r->argv[i], slice_str(o->name), true))
            return true;
    }
    return false;
}

static void reply_option(struct req *r, const struct config_option *o) {
    struct buf value = { 0 };

    config_show(o, &value);
    buf_append(&value, "", 1);
    reply_bulk_str(r, o->name);
    reply_bulk_str(r, buf_ptr(&value));
    buf_free(&value);
}

/* Names are matched case-insensitively, as in CONFIG SET. */
static void config_get(struct req *r) {
    size_t count, found = 0;
    const struct config_option *options = config_options(&count);
    const struct config_option **hits;

    if (!args_patterns_or_reply(r, 2, PATTERNS_AT_ONCE))
        return;
    hits = req_alloc(r, count * sizeof(*hits));
    for (size_t i = 0; i < count; i++) {
        if (matches(r, &options[i]))
            hits[found++] = &options[i];
    }
    reply_map(r, found);
    for (size_t i = 0; i < found; i++)
        reply_option(r, hits[i]);
    req_end(r);
}

static void config_finish(struct req *r, bool ok, const char *err) {
    if (ok)
        req_ok(r);
    else
        req_error(r, "ERR %s", err);
}

static void config_set_pairs(struct req *r) {
    char err[ERR_SIZE];

    if (r->argc % 2 != 0) {
        usage_error(r, "ERR wrong number of arguments for CONFIG SET: it takes pairs of a name and a value");
        return;
    }
    config_finish(r, config_set_all(r->argv + 2, (size_t)(r->argc - 2) / 2, err, sizeof(err)), err);
}

static void config_resetstat(struct req *r) {
    stats_reset();
    command_stats_reset();
    turn_reset();
    req_ok(r);
}

static void config_rewrite_file(struct req *r) {
    char err[ERR_SIZE];
    struct buf users = { 0 };
    bool ok;

    /* The aclfile has the users, if there is one. */
    if (config.aclfile[0] == '\0')
        users_describe(&users, true);
    ok = config_rewrite((struct slice){ buf_ptr(&users), buf_len(&users) }, err, sizeof(err));
    buf_free(&users);

    if (ok)
        log_notice("config", "%s rewritten", config_file());
    else
        log_warning("config", "%s", err);
    config_finish(r, ok, err);
}

static const struct subcommand subcommands[] = {
    { "GET", 1, -1, config_get },
    { "SET", 2, -1, config_set_pairs },
    { "RESETSTAT", 0, 0, config_resetstat },
    { "REWRITE", 0, 0, config_rewrite_file },
};

void cmd_config(struct req *r) {
    subcommand_run(r, subcommands, LENGTH(subcommands));
}
