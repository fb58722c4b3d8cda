/* ACL: shows and changes users. */
#include "commands/dispatch.h"
#include "commands/subcommand.h"
#include "net/args.h"
#include "net/usage.h"

static void acl_whoami(struct req *r) {
    reply_bulk(r, user_name(r->client->user));
    req_end(r);
}

/* Replies the error of a rule of ACL SETUSER. */
static void acl_refuse_rule(struct req *r, struct slice rule, enum rule_error error) {
    req_error(r, "ERR Error in ACL SETUSER modifier '%.*s': %s", (int)rule.len, rule.ptr,
              rule_error_text(error));
}

static void acl_setuser(struct req *r) {
    size_t words = (size_t)r->argc - 3, count, bad;
    struct slice *rules = req_alloc(r, (words + 1) * sizeof *rules);
    struct buf joined = { 0 };
    int open = rules_join(r->argv + 3, words, &joined, rules, &count);
    enum rule_error error;

    if (!user_name_is_valid(r->argv[2]))
        req_error(r, "ERR Usernames can't contain spaces or null characters");
    else if (open >= 0)
        req_error(r, "ERR Unmatched parenthesis in acl selector starting at '%.*s'.",
                  (int)r->argv[3 + open].len, r->argv[3 + open].ptr);
    else if ((error = user_set(r->argv[2], rules, count, &bad)) != RULE_OK)
        acl_refuse_rule(r, rules[bad], error);
    else
        req_ok(r);
    buf_free(&joined);
}

void cmd_acl(struct req *r) {
    static const struct subcommand members[] = {
        { "SETUSER", 1, -1, acl_setuser },
        { "WHOAMI", 0, 0, acl_whoami },
    };

    subcommand_run(r, members, LENGTH(members));
}
