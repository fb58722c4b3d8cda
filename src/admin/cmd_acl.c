/* ACL: shows and changes users. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sodium.h>
#include "acl/acl_file.h"
#include "acl/acl_log.h"
#include "base/clock.h"
#include "base/log.h"
#include "commands/dispatch.h"
#include "commands/revoke.h"
#include "commands/rights.h"
#include "commands/subcommand.h"
#include "config/config.h"
#include "net/args.h"

#define GENPASS_BITS 256
#define GENPASS_MAX_BITS 4096
#define LOG_ENTRIES 10
/* The most bytes of an argument that an error repeats. */
#define ARG_SHOWN 128

static struct slice acl_text(const struct buf *b) {
    return (struct slice){ buf_ptr(b), buf_len(b) };
}

static int shown_len(struct slice s) {
    return (int)(s.len < ARG_SHOWN ? s.len : ARG_SHOWN);
}

/* ---- users ---- */

static void acl_whoami(struct req *r) {
    reply_bulk(r, user_name(r->client->user));
    req_end(r);
}

static void acl_users(struct req *r) {
    struct user **all = users_sorted();

    reply_array(r, users_count());
    for (size_t i = 0; i < users_count(); i++)
        reply_bulk(r, user_name(all[i]));
    free(all);
    req_end(r);
}

static void acl_list(struct req *r) {
    struct user **all = users_sorted();

    reply_array(r, users_count());
    for (size_t i = 0; i < users_count(); i++) {
        struct buf line = { 0 };

        user_describe(all[i], &line);
        reply_bulk(r, acl_text(&line));
        buf_free(&line);
    }
    free(all);
    req_end(r);
}

static void reply_described(struct req *r, const char *name,
                            void (*describe)(const struct selector *s, struct buf *out),
                            const struct selector *s) {
    struct buf text = { 0 };

    reply_bulk_str(r, name);
    buf_reserve(&text, 1);
    describe(s, &text);
    reply_bulk(r, acl_text(&text));
    buf_free(&text);
}

static void reply_selector(struct req *r, const struct selector *s) {
    reply_described(r, "commands", selector_describe_commands, s);
    reply_described(r, "keys", selector_describe_queues, s);
    reply_described(r, "channels", selector_describe_channels, s);
}

static void reply_flags_of(struct req *r, const struct grants *g) {
    reply_bulk_str(r, "flags");
    reply_array(r, 2 + (size_t)g->nopass);
    reply_bulk_str(r, g->on ? "on" : "off");
    if (g->nopass)
        reply_bulk_str(r, "nopass");
    reply_bulk_str(r, g->skips_sanitize ? "skip-sanitize-payload" : "sanitize-payload");
}

static void reply_passwords(struct req *r, const struct grants *g) {
    reply_bulk_str(r, "passwords");
    reply_array(r, g->password_count);
    for (size_t i = 0; i < g->password_count; i++) {
        char text[2 * PASSWORD_HASH_BYTES + 1];

        hex_encode(g->passwords[i], PASSWORD_HASH_BYTES, text);
        reply_bulk_str(r, text);
    }
}

static void acl_getuser(struct req *r) {
    const struct user *u = user_find(r->argv[2]);

    if (u == NULL) {
        reply_null_bulk(r);
        req_end(r);
        return;
    }
    reply_map(r, 6);
    reply_flags_of(r, &u->grants);
    reply_passwords(r, &u->grants);
    reply_selector(r, &u->grants.root);
    reply_bulk_str(r, "selectors");
    reply_array(r, u->grants.more_count);
    for (size_t i = 0; i < u->grants.more_count; i++) {
        reply_map(r, 3);
        reply_selector(r, &u->grants.more[i]);
    }
    req_end(r);
}

/* ---- changes ---- */

static void acl_refuse_rule(struct req *r, struct slice rule, enum rule_error error) {
    reply_error(r, "ERR Error in ACL SETUSER modifier '%.*s': %s", shown_len(rule), rule.ptr,
                rule_error_text(error));
}

/* Replies an error and returns false if a rule is wrong. The caller ends r. */
static bool set_user_or_reply(struct req *r, const struct slice *rules, size_t count) {
    size_t bad;
    enum rule_error error = user_set(r->argv[2], rules, count, &bad);

    if (error == RULE_OK)
        return true;
    if (bad < count)
        acl_refuse_rule(r, rules[bad], error);
    else
        reply_error(r, "LIMIT there are %d users already", USERS_MAX);
    return false;
}

static void acl_setuser(struct req *r) {
    size_t words = (size_t)r->argc - 3, count;
    struct slice *rules = req_alloc(r, (words + 1) * sizeof *rules);
    struct buf joined = { 0 };
    int open = rules_join(r->argv + 3, words, &joined, rules, &count);

    if (!user_name_is_valid(r->argv[2]))
        reply_error(r, "ERR Usernames can't contain spaces or null characters");
    else if (open >= 0)
        reply_error(r, "ERR Unmatched parenthesis in acl selector starting at '%.*s'.",
                    shown_len(r->argv[3 + open]), r->argv[3 + open].ptr);
    else if (set_user_or_reply(r, rules, count)) {
        log_notice("acl", "user %s was set by %s", log_escape(r->argv[2], ARG_SHOWN),
                   client_ident(r->client));
        revoke_lost_rights(r->client);
        reply_status(r, "OK");
    }
    buf_free(&joined);
    req_end(r);
}

static void acl_deluser(struct req *r) {
    int64_t count = 0;

    for (int i = 2; i < r->argc; i++) {
        if (slice_equal(r->argv[i], SLICE("default"))) {
            req_error(r, "ERR The 'default' user cannot be removed");
            return;
        }
    }
    for (int i = 2; i < r->argc; i++)
        count += user_remove(r->argv[i]);
    if (count > 0)
        log_notice("acl", "%lld users were removed by %s", (long long)count, client_ident(r->client));
    revoke_lost_rights(r->client);
    req_int(r, count);
}

/* ---- files ---- */

static bool has_file_or_reply(struct req *r) {
    if (config.aclfile[0] != '\0')
        return true;
    req_error(
        r,
        "ERR This pgdisque instance is not configured to use an ACL file. You may want to specify users via "
        "the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a configuration file "
        "set) in order to store users in the configuration.");
    return false;
}

static void acl_load(struct req *r) {
    struct buf err = { 0 };

    if (!has_file_or_reply(r))
        return;
    if (acl_file_load(&err)) {
        log_notice("acl", "%s was loaded: %zu users", config.aclfile, users_count());
        revoke_lost_rights(r->client);
        req_ok(r);
    } else {
        log_warning("acl", "%s", log_escape(acl_text(&err), SIZE_MAX));
        req_error(r, "ERR %.*s", (int)buf_len(&err), buf_ptr(&err));
    }
    buf_free(&err);
}

static void acl_save(struct req *r) {
    if (!has_file_or_reply(r))
        return;
    if (acl_file_save()) {
        log_notice("acl", "%zu users were written to %s", users_count(), config.aclfile);
        req_ok(r);
    } else {
        log_warning("acl", "cannot write %s: %s", config.aclfile, strerror(errno));
        req_error(r, "ERR There was an error trying to save the ACLs. Please check the server logs for more "
                     "information");
    }
}

/* ---- categories, passwords ---- */

static void acl_cat(struct req *r) {
    reply_array(r, CATEGORY_COUNT);
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        reply_bulk_str(r, category_name(i));
    req_end(r);
}

static void acl_cat_of(struct req *r) {
    int category = category_find(r->argv[2]);
    size_t count = 0;

    if (category < 0) {
        req_error(r, "ERR Unknown category '%.*s'", shown_len(r->argv[2]), r->argv[2].ptr);
        return;
    }
    for (unsigned i = 0; i < rights_count(); i++)
        count += right_at(i)->categories >> category & 1;
    reply_array(r, count);
    for (unsigned i = 0; i < rights_count(); i++) {
        if ((right_at(i)->categories >> category & 1) != 0)
            reply_bulk_str(r, right_at(i)->name);
    }
    req_end(r);
}

static void acl_genpass(struct req *r) {
    unsigned char bytes[GENPASS_MAX_BITS / 8];
    char text[2 * sizeof bytes + 1];
    int64_t bits = GENPASS_BITS;

    if (r->argc == 3 && !args_integer_or_reply(r, 2, &bits))
        return;
    if (bits <= 0 || bits > GENPASS_MAX_BITS) {
        req_error(r,
                  "ERR ACL GENPASS argument must be the number of bits for the output password, a positive "
                  "number up "
                  "to %d",
                  GENPASS_MAX_BITS);
        return;
    }
    randombytes_buf(bytes, sizeof bytes);
    hex_encode(bytes, sizeof bytes, text);
    reply_bulk(r, (struct slice){ text, (size_t)(bits + 3) / 4 });
    sodium_memzero(bytes, sizeof bytes);
    sodium_memzero(text, sizeof text);
    req_end(r);
}

/* ---- LOG ---- */

static void reply_log_text(struct req *r, const char *name, struct slice text) {
    reply_bulk_str(r, name);
    reply_bulk(r, text);
}

static void reply_entry_of_log(struct req *r, const struct acl_log_entry *e) {
    char age[32];

    snprintf(age, sizeof age, "%.3f", (double)(clock_unix() - e->updated_us) / (double)US_PER_S);
    reply_map(r, 10);
    reply_pair_int(r, "count", (int64_t)e->count);
    reply_log_text(r, "reason", slice_str(acl_log_reason_name(e->reason)));
    reply_log_text(r, "context", slice_str(acl_log_context_name(e->context)));
    reply_log_text(r, "object", (struct slice){ e->object, e->object_len });
    reply_log_text(r, "username", (struct slice){ e->user, e->user_len });
    reply_log_text(r, "age-seconds", slice_str(age));
    reply_log_text(r, "client-info", slice_str(e->client));
    reply_pair_int(r, "entry-id", (int64_t)e->id);
    reply_pair_int(r, "timestamp-created", e->created_us / US_PER_MS);
    reply_pair_int(r, "timestamp-last-updated", e->updated_us / US_PER_MS);
}

static void acl_log(struct req *r) {
    int64_t count = LOG_ENTRIES;

    if (r->argc == 3 && slice_is(r->argv[2], "reset")) {
        acl_log_reset();
        req_ok(r);
        return;
    }
    if (r->argc == 3 && !args_integer_or_reply(r, 2, &count))
        return;
    if (count < 0)
        count = 0;
    if ((size_t)count > acl_log_len())
        count = (int64_t)acl_log_len();
    reply_array(r, (size_t)count);
    LIST_EACH(node, acl_log_entries()) {
        if (count-- == 0)
            break;
        reply_entry_of_log(r, LIST_ENTRY(node, const struct acl_log_entry, node));
    }
    req_end(r);
}

/* ---- DRYRUN ---- */

static void dryrun_call(struct req *r, const struct user *u, const struct command *cmd) {
    struct acl_call call = rights_call(cmd, r->argc - 3, r->argv + 3);
    struct buf text = { 0 };
    enum acl_denial why;
    int place;

    if (user_may_call(u, &call, &why, &place)) {
        req_ok(r);
        return;
    }
    rights_describe_denial(u, &call, why, &call.argv[place], &text);
    req_text(r, &text);
}

/* The command, or NULL: there is none with this name, or none with this subcommand. */
static const struct command *dryrun_command(const struct req *r) {
    const struct command *cmd = command_lookup(r->argv[3]);

    if (cmd == NULL || r->argc == 4 || !right_at(cmd->id)->family ||
        rights_needed(cmd, r->argc - 3, r->argv + 3) != cmd->id)
        return cmd;
    return NULL;
}

static bool dryrun_arity_or_reply(struct req *r, const struct command *cmd) {
    unsigned right = rights_needed(cmd, r->argc - 3, r->argv + 3);
    const struct right_sub *sub = rights_sub(right);

    if (command_arity_fits(cmd, r->argc - 3) && (sub == NULL || arity_fits(sub->arity, r->argc - 3)))
        return true;
    req_error(r, "ERR wrong number of arguments for '%s' command", right_at(right)->name);
    return false;
}

static void acl_dryrun(struct req *r) {
    const struct user *u = user_find(r->argv[2]);
    const struct command *cmd = dryrun_command(r);

    if (u == NULL)
        req_error(r, "ERR User '%.*s' not found", shown_len(r->argv[2]), r->argv[2].ptr);
    else if (cmd == NULL)
        req_error(r, "ERR Command '%.*s' not found", shown_len(r->argv[3]), r->argv[3].ptr);
    else if (dryrun_arity_or_reply(r, cmd))
        dryrun_call(r, u, cmd);
}

void cmd_acl(struct req *r) {
    static const struct subcommand members[] = {
        { "CAT", 0, 0, acl_cat },        { "CAT", 1, 1, acl_cat_of },       { "DELUSER", 1, -1, acl_deluser },
        { "DRYRUN", 2, -1, acl_dryrun }, { "GENPASS", 0, 1, acl_genpass },  { "GETUSER", 1, 1, acl_getuser },
        { "LIST", 0, 0, acl_list },      { "LOAD", 0, 0, acl_load },        { "LOG", 0, 1, acl_log },
        { "SAVE", 0, 0, acl_save },      { "SETUSER", 1, -1, acl_setuser }, { "USERS", 0, 0, acl_users },
        { "WHOAMI", 0, 0, acl_whoami },
    };

    subcommand_run(r, members, LENGTH(members));
}
