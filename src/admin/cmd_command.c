/* COMMAND: replies the table of commands, for clients and for the hints of redis-cli. */
#include <ctype.h>
#include <stdio.h>
#include "acl/right.h"
#include "base/glob.h"
#include "commands/command_docs.h"
#include "commands/command_keys.h"
#include "commands/dispatch.h"
#include "commands/rights.h"
#include "commands/subcommand.h"
#include "net/args.h"
#include "net/usage.h"

/* COMMAND INFO and DOCS. */
/* Limit for one request, because a name of a few bytes has a reply of a few kilobytes. */
#define NAMES_AT_ONCE 1000

/* The first version of pgdisque, which had all commands of the table. */
#define SINCE "1.0.0"

static const struct flag_name {
    enum command_flag flag;
    const char *name;
} flag_names[] = {
    { CMD_WRITE, "write" },    { CMD_READONLY, "readonly" }, { CMD_DENYOOM, "denyoom" },
    { CMD_ADMIN, "admin" },    { CMD_LOADING, "loading" },   { CMD_FAST, "fast" },
    { CMD_NOAUTH, "no_auth" }, { CMD_BLOCKING, "blocking" }, { CMD_NO_MULTI, "no_multi" },
};

static void reply_flags(struct req *r, unsigned flags, bool movable) {
    size_t count = movable;

    for (size_t i = 0; i < LENGTH(flag_names); i++)
        count += (flags & flag_names[i].flag) != 0;
    reply_array(r, count);
    for (size_t i = 0; i < LENGTH(flag_names); i++) {
        if (flags & flag_names[i].flag)
            reply_status(r, flag_names[i].name);
    }
    if (movable)
        reply_status(r, "movablekeys");
}

static bool has_category(const struct right *right, unsigned category) {
    return (right->categories >> category & 1) != 0;
}

static void reply_categories(struct req *r, const struct right *right) {
    size_t count = 0;

    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        count += has_category(right, i);
    reply_array(r, count);
    for (unsigned i = 0; i < CATEGORY_COUNT; i++) {
        char text[32];

        snprintf(text, sizeof text, "@%s", category_name(i));
        if (has_category(right, i))
            reply_status(r, text);
    }
}

static const struct command *command_of(unsigned right) {
    size_t count;
    const struct command *all = command_table(&count);

    return &all[right_at(right)->command < 0 ? right : (unsigned)right_at(right)->command];
}

static bool is_help(const struct right_sub *sub) {
    return sub != NULL && strcmp(strchr(sub->name, '|') + 1, "help") == 0;
}

static void reply_entry(struct req *r, unsigned right);

static void reply_subcommands(struct req *r, unsigned command) {
    size_t count = 0;

    for (unsigned i = 0; i < rights_count(); i++)
        count += right_at(i)->command == (int)command;
    reply_array(r, count);
    for (unsigned i = 0; i < rights_count(); i++) {
        if (right_at(i)->command == (int)command)
            reply_entry(r, i);
    }
}

/* The entry of a command or subcommand, as in Redis 7. Tips and key specifications are empty. */
static void reply_entry(struct req *r, unsigned right) {
    const struct command *cmd = command_of(right);
    const struct right_sub *sub = rights_sub(right);
    struct key_range keys = { 0 };

    if (!is_help(sub))
        keys = command_key_range(cmd);
    reply_array(r, 10);
    reply_bulk_str(r, right_at(right)->name);
    reply_int(r, sub != NULL ? sub->arity : cmd->arity);
    reply_flags(r, sub != NULL ? sub->flags : cmd->flags, keys.movable);
    reply_int(r, keys.first);
    reply_int(r, keys.last);
    reply_int(r, keys.step);
    reply_categories(r, right_at(right));
    reply_array(r, 0);
    reply_array(r, 0);
    reply_subcommands(r, right);
}

static void command_all(struct req *r) {
    size_t count;

    (void)command_table(&count);
    reply_array(r, count);
    for (unsigned i = 0; i < count; i++)
        reply_entry(r, i);
    req_end(r);
}

static void command_count(struct req *r) {
    size_t count;

    (void)command_table(&count);
    req_int(r, (int64_t)count);
}

static bool of_all(const struct right *right, struct slice what) {
    (void)right;
    (void)what;
    return true;
}

static bool of_category(const struct right *right, struct slice what) {
    int category = category_find(what);

    return category >= 0 && has_category(right, (unsigned)category);
}

static bool of_pattern(const struct right *right, struct slice what) {
    return glob_match(what, slice_str(right->name), true);
}

/* pgdisque has no modules. */
static bool of_module(const struct right *right, struct slice what) {
    (void)right;
    (void)what;
    return false;
}

/* Replies the names of commands and subcommands. */
static void command_list_those(struct req *r, bool (*wanted)(const struct right *, struct slice),
                               struct slice what) {
    size_t found = 0;

    for (unsigned i = 0; i < rights_count(); i++)
        found += wanted(right_at(i), what);
    reply_array(r, found);
    for (unsigned i = 0; i < rights_count(); i++) {
        if (wanted(right_at(i), what))
            reply_bulk_str(r, right_at(i)->name);
    }
    req_end(r);
}

static void command_list(struct req *r) {
    command_list_those(r, of_all, SLICE(""));
}

static void command_list_some(struct req *r) {
    static const struct {
        const char *word;
        bool (*wanted)(const struct right *, struct slice);
    } filters[] = { { "module", of_module }, { "aclcat", of_category }, { "pattern", of_pattern } };

    if (!args_patterns_or_reply(r, 4, 1))
        return;
    for (size_t i = 0; i < LENGTH(filters); i++) {
        if (!slice_is(r->argv[2], "filterby") || !slice_is(r->argv[3], filters[i].word))
            continue;
        command_list_those(r, filters[i].wanted, r->argv[4]);
        return;
    }
    usage_error(r, SYNTAX_ERROR ": LIST knows FILTERBY MODULE, ACLCAT and PATTERN");
}

static void command_info(struct req *r) {
    if (!args_names_or_reply(r, 2, NAMES_AT_ONCE))
        return;
    reply_array(r, (size_t)r->argc - 2);
    for (int i = 2; i < r->argc; i++) {
        int right = right_find(r->argv[i]);

        if (right < 0)
            reply_null_bulk(r);
        else
            reply_entry(r, (unsigned)right);
    }
    req_end(r);
}

/* COMMAND DOCS */

static void reply_pair(struct req *r, const char *name, struct slice value) {
    reply_bulk_str(r, name);
    reply_bulk(r, value);
}

static void to_lower(char *text) {
    for (; *text != '\0'; text++)
        *text = (char)tolower((unsigned char)*text);
}

/* The name of a literal is the literal in lower case. The name of a group is its type. */
static void reply_arg_name(struct req *r, const struct doc_arg *a) {
    char lower[64];

    if (a->name.len > 0) {
        reply_pair(r, "name", a->name);
        return;
    }
    snprintf(lower, sizeof lower, "%.*s", (int)a->token.len, a->token.ptr);
    to_lower(lower);
    reply_pair(r, "name", slice_str(a->token.len == 0 ? doc_type_name(a->type) : lower));
}

static void reply_arg_flags(struct req *r, const struct doc_arg *a) {
    reply_bulk_str(r, "flags");
    reply_array(r, (size_t)a->optional + a->multiple + a->repeats_token);
    if (a->optional)
        reply_status(r, "optional");
    if (a->multiple)
        reply_status(r, "multiple");
    if (a->repeats_token)
        reply_status(r, "multiple_token");
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

/* Recursive. The parser limits the depth of a synopsis. */
static void reply_args(struct req *r, const struct doc *doc, short first, short count) {
    reply_bulk_str(r, "arguments");
    reply_array(r, (size_t)count);
    for (short i = first; i >= 0; i = doc->args[i].next)
        reply_arg(r, doc, &doc->args[i]);
}

static void reply_head(struct req *r, const struct command *cmd, size_t more) {
    reply_map(r, 3 + more);
    reply_pair(r, "summary", slice_str(cmd->summary));
    reply_pair(r, "since", slice_str(SINCE));
    reply_pair(r, "group", slice_str(cmd->group));
}

/* Finds the subcommands of a command such as CONFIG. Its synopsis is a choice, and each alternative begins
 * with a literal. An optional choice such as that of METRICS has options instead, unless they have rights of their own.
 * Returns the index of the first alternative, or -1. */
static short family_of(const struct command *cmd, const struct doc *doc) {
    const struct doc_arg *choice = &doc->args[doc->first];

    if (doc->children != 1 || choice->type != DOC_ONEOF || choice->token.len > 0)
        return -1;
    if (choice->optional && !right_at((unsigned)right_find(slice_str(cmd->name)))->family)
        return -1;
    for (short i = choice->first; i >= 0; i = doc->args[i].next) {
        const struct doc_arg *a = &doc->args[i];

        if ((a->type == DOC_BLOCK ? doc->args[a->first].token.len : a->token.len) == 0)
            return -1;
    }
    return choice->first;
}

/* The literal is the name of the subcommand. Its arguments follow the literal. */
static void reply_member(struct req *r, const struct command *cmd, struct doc *doc, short place) {
    struct doc_arg *a = &doc->args[place];
    struct doc_arg *first = a->type == DOC_BLOCK ? &doc->args[a->first] : a;
    struct doc_arg word = *first;
    short count = a->type == DOC_BLOCK ? a->children : 1;
    short from = a->type == DOC_BLOCK ? a->first : place;
    char name[64];

    snprintf(name, sizeof name, "%s|%.*s", cmd->name, (int)word.token.len, word.token.ptr);
    to_lower(name);
    reply_bulk_str(r, name);
    if (word.type == DOC_PURE_TOKEN) {
        count--;
        from = word.next;
    }
    if (a->type != DOC_BLOCK)
        a->next = -1;
    first->token = SLICE("");
    reply_head(r, cmd, count > 0);
    if (count > 0)
        reply_args(r, doc, from, count);
    *first = word;
}

static void reply_members(struct req *r, const struct command *cmd, struct doc *doc, short first) {
    size_t count = 0;

    for (short i = first; i >= 0; i = doc->args[i].next)
        count++;
    reply_bulk_str(r, "subcommands");
    reply_map(r, count);
    for (short i = first; i >= 0; i = doc->args[i].next)
        reply_member(r, cmd, doc, i);
}

static void reply_docs(struct req *r, const struct command *cmd) {
    struct doc doc;
    bool args = doc_parse(cmd->args, &doc) && doc.children > 0;
    short family = args ? family_of(cmd, &doc) : -1;

    reply_bulk_str(r, cmd->name);
    reply_head(r, cmd, args);
    if (family >= 0)
        reply_members(r, cmd, &doc, family);
    else if (args)
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

/* Unknown names are left out, as in Redis. */
static void command_docs_of(struct req *r) {
    size_t known = 0;

    if (!args_names_or_reply(r, 2, NAMES_AT_ONCE))
        return;
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

/* Sets places to the positions of the keys in the command that follows, and returns their number; -1: an error was
 * replied. */
static int find_keys_or_reply(struct req *r, const struct command *cmd, int *places) {
    struct key_range range;
    int count;

    if (cmd == NULL) {
        req_error(r, "ERR Invalid command specified");
        return -1;
    }
    range = command_key_range(cmd);
    if (range.first == 0 && !range.movable) {
        req_error(r, "ERR The command has no key arguments");
        return -1;
    }
    if (!command_arity_fits(cmd, r->argc - 2)) {
        req_error(r, "ERR Invalid number of arguments specified for command");
        return -1;
    }
    count = command_find_keys(cmd, r->argc - 2, r->argv + 2, places);
    if (count == 0) {
        req_error(r, "ERR Invalid arguments specified for command");
        return -1;
    }
    return count;
}

static void command_getkeys(struct req *r) {
    int *places = req_alloc(r, (size_t)r->argc * sizeof *places);
    int count = find_keys_or_reply(r, command_lookup(r->argv[2]), places);

    if (count < 0)
        return;
    reply_array(r, (size_t)count);
    for (int i = 0; i < count; i++)
        reply_bulk(r, r->argv[2 + places[i]]);
    req_end(r);
}

static void reply_key_flags(struct req *r, const char *const *flags) {
    size_t count = 0;

    while (flags[count] != NULL)
        count++;
    reply_array(r, count);
    for (size_t i = 0; i < count; i++)
        reply_status(r, flags[i]);
}

static void command_getkeysandflags(struct req *r) {
    const struct command *cmd = command_lookup(r->argv[2]);
    int *places = req_alloc(r, (size_t)r->argc * sizeof *places);
    int count = find_keys_or_reply(r, cmd, places);

    if (count < 0)
        return;
    reply_array(r, (size_t)count);
    for (int i = 0; i < count; i++) {
        reply_array(r, 2);
        reply_bulk(r, r->argv[2 + places[i]]);
        reply_key_flags(r, command_key_flags(cmd, (size_t)i));
    }
    req_end(r);
}

void cmd_command(struct req *r) {
    static const struct subcommand members[] = {
        { "COUNT", 0, 0, command_count },
        { "LIST", 0, 0, command_list },
        { "LIST", 3, 3, command_list_some },
        { "INFO", 0, 0, command_all },
        { "INFO", 1, -1, command_info },
        { "DOCS", 0, 0, command_docs_all },
        { "DOCS", 1, -1, command_docs_of },
        { "GETKEYS", 1, -1, command_getkeys },
        { "GETKEYSANDFLAGS", 1, -1, command_getkeysandflags },
    };

    if (r->argc == 1)
        command_all(r);
    else
        subcommand_run(r, members, LENGTH(members));
}
