/* COMMAND: what the table of commands says, for clients and for hints in redis-cli. */
#include <string.h>
#include "command.h"
#include "command_docs.h"
#include "subcommand.h"

/* Since which version of ours; the command table has been as it is from the first on. */
#define SINCE "0.1.0"

static const struct flag_name {
    enum command_flag flag;
    const char *name;
} flag_names[] = {
    { CMD_WRITE, "write" },    { CMD_READONLY, "readonly" }, { CMD_DENYOOM, "denyoom" },
    { CMD_ADMIN, "admin" },    { CMD_LOADING, "loading" },   { CMD_FAST, "fast" },
    { CMD_NOAUTH, "no_auth" }, { CMD_BLOCKING, "blocking" },
};

static void reply_flags(struct req *r, unsigned flags) {
    size_t count = 0;

    for (size_t i = 0; i < LENGTH(flag_names); i++)
        count += (flags & flag_names[i].flag) != 0;
    reply_array(r, count);
    for (size_t i = 0; i < LENGTH(flag_names); i++) {
        if (flags & flag_names[i].flag)
            reply_status(r, flag_names[i].name);
    }
}

/* Name, arity, flags, and that there are no keys. */
static void reply_entry(struct req *r, const struct command *cmd) {
    reply_array(r, 6);
    reply_bulk_str(r, cmd->name);
    reply_int(r, cmd->arity);
    reply_flags(r, cmd->flags);
    reply_int(r, 0);
    reply_int(r, 0);
    reply_int(r, 0);
}

static void command_all(struct req *r) {
    size_t count;
    const struct command *all = command_table(&count);

    reply_array(r, count);
    for (size_t i = 0; i < count; i++)
        reply_entry(r, &all[i]);
    req_end(r);
}

static void command_count(struct req *r) {
    size_t count;

    (void)command_table(&count);
    req_int(r, (int64_t)count);
}

static void command_list(struct req *r) {
    size_t count;
    const struct command *all = command_table(&count);

    reply_array(r, count);
    for (size_t i = 0; i < count; i++)
        reply_bulk_str(r, all[i].name);
    req_end(r);
}

static void command_info(struct req *r) {
    reply_array(r, (size_t)r->argc - 2);
    for (int i = 2; i < r->argc; i++) {
        const struct command *cmd = command_lookup(r->argv[i]);

        if (cmd == NULL)
            reply_null_bulk(r);
        else
            reply_entry(r, cmd);
    }
    req_end(r);
}

/* COMMAND DOCS */

static void reply_pair(struct req *r, const char *name, struct slice value) {
    reply_bulk_str(r, name);
    reply_bulk(r, value);
}

/* Literals are named by themselves in lower case, groups by their kind. */
static void reply_arg_name(struct req *r, const struct doc_arg *a) {
    char lower[64];
    size_t len = a->token.len < sizeof lower ? a->token.len : sizeof lower;

    if (a->name.len > 0) {
        reply_pair(r, "name", a->name);
        return;
    }
    if (len == 0) {
        reply_pair(r, "name", slice_str(doc_type_name(a->type)));
        return;
    }
    for (size_t i = 0; i < len; i++)
        lower[i] =
            a->token.ptr[i] >= 'A' && a->token.ptr[i] <= 'Z' ? (char)(a->token.ptr[i] + 32) : a->token.ptr[i];
    reply_pair(r, "name", (struct slice){ lower, len });
}

static void reply_arg_flags(struct req *r, const struct doc_arg *a) {
    reply_bulk_str(r, "flags");
    reply_array(r, (size_t)a->optional + a->multiple);
    if (a->optional)
        reply_status(r, "optional");
    if (a->multiple)
        reply_status(r, "multiple");
}

static void reply_args(struct req *r, const struct doc *doc, short first, short count);

static void reply_arg(struct req *r, const struct doc *doc, const struct doc_arg *a) {
    bool flags = a->optional || a->multiple;
    bool shown = a->children == 0 && a->type != DOC_PURE_TOKEN;

    reply_map(r, 2 + (size_t)shown + (a->token.len > 0) + flags + (a->children > 0));
    reply_arg_name(r, a);
    reply_pair(r, "type", slice_str(doc_type_name(a->type)));
    if (shown)
        reply_pair(r, "display_text", a->name);
    if (a->token.len > 0)
        reply_pair(r, "token", a->token);
    if (flags)
        reply_arg_flags(r, a);
    if (a->children > 0)
        reply_args(r, doc, a->first, a->children);
}

/* Recursive; the parser lets no synopsis be nested deeply. */
static void reply_args(struct req *r, const struct doc *doc, short first, short count) {
    reply_bulk_str(r, "arguments");
    reply_array(r, (size_t)count);
    for (short i = first; i >= 0; i = doc->args[i].next)
        reply_arg(r, doc, &doc->args[i]);
}

static void reply_docs(struct req *r, const struct command *cmd) {
    struct doc doc;
    bool args = doc_parse(cmd->args, &doc) && doc.children > 0;

    reply_bulk_str(r, cmd->name);
    reply_map(r, 3 + (size_t)args);
    reply_pair(r, "summary", slice_str(cmd->summary));
    reply_pair(r, "since", slice_str(SINCE));
    reply_pair(r, "group", slice_str(cmd->group));
    if (args)
        reply_args(r, &doc, doc.first, doc.children);
}

static void command_docs_all(struct req *r) {
    size_t count;
    const struct command *all = command_table(&count);

    reply_map(r, count);
    for (size_t i = 0; i < count; i++)
        reply_docs(r, &all[i]);
    req_end(r);
}

/* Names that do not exist are left out, as Redis does. */
static void command_docs_of(struct req *r) {
    size_t known = 0;

    for (int i = 2; i < r->argc; i++)
        known += command_lookup(r->argv[i]) != NULL;
    reply_map(r, known);
    for (int i = 2; i < r->argc; i++) {
        const struct command *cmd = command_lookup(r->argv[i]);

        if (cmd != NULL)
            reply_docs(r, cmd);
    }
    req_end(r);
}

static void command_getkeys(struct req *r) {
    if (command_lookup(r->argv[2]) == NULL)
        req_error(r, "ERR Invalid command specified");
    else
        req_error(r, "ERR The command has no key arguments");
}

void cmd_command(struct req *r) {
    static const struct subcommand members[] = {
        { "COUNT", 0, 0, command_count },   { "LIST", 0, 0, command_list },
        { "INFO", 0, -1, command_info },    { "DOCS", 0, 0, command_docs_all },
        { "DOCS", 1, -1, command_docs_of }, { "GETKEYS", 1, -1, command_getkeys },
    };

    if (r->argc == 1)
        command_all(r);
    else if (!subcommand_run(r, members, LENGTH(members)))
        req_error(r, "ERR Unknown subcommand or wrong number of arguments.");
}
