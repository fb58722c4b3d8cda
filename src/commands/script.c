/* Known Lua scripts: finds them by their SHA1, and replaces them by commands. */
#include "commands/script.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

#include "commands/dispatch.h"
#include "commands/laravel.h"
#include "commands/refused.h"
#include "commands/rights.h"
#include "net/args.h"

#define SHA1_DIGITS 40
/* No known script is longer. */
#define TEXT_MAX (64 * 1024)
/* Maximum number of command names in a refusal. */
#define NAMES_MAX 8
#define NAME_MAX_LEN 32
/* Bytes of a number as a text. */
#define INT64_DIGITS 24

#define SCRIPT_ALONE "ERR this script cannot be part of a transaction"
#define NOSCRIPT "NOSCRIPT No matching script. Please use EVAL."

struct script {
    const char *sha1;
    const char *command; /* NULL: the script does nothing here */
    int keys;
    int args;
    bool indexed; /* the last argument is an index: see scripts.def */
    /* Replaces the arguments; NULL: the first keys and arguments are those of the command. */
    bool (*translate)(struct req *r, const struct slice *keys, const struct slice *args);
    /* Runs the translated script; NULL: the handler of the command. */
    void (*run)(struct req *r);
};

static const struct script known_scripts[] = {
#define SCRIPT(sha1, command, keys, args, indexed) { sha1, command, keys, args, indexed, NULL, NULL },
#define SCRIPT_BY(sha1, command, keys, args, translate, run) \
    { sha1, command, keys, args, false, translate, run },
#include "commands/scripts.def"
#undef SCRIPT
#undef SCRIPT_BY
};

/* ---- lookup ---- */

static const struct script *find_sha1(struct slice sha1) {
    for (size_t i = 0; i < LENGTH(known_scripts); i++) {
        if (slice_is(sha1, known_scripts[i].sha1))
            return &known_scripts[i];
    }
    return NULL;
}

static const struct script *find_text(struct slice text) {
    unsigned char hash[EVP_MAX_MD_SIZE];
    char digits[SHA1_DIGITS + 1];
    unsigned len = 0;

    if (text.len > TEXT_MAX || EVP_Digest(text.ptr, text.len, hash, &len, EVP_sha1(), NULL) != 1)
        return NULL;
    for (unsigned i = 0; i < len; i++)
        snprintf(digits + (size_t)2 * i, 3, "%02x", hash[i]);
    return find_sha1((struct slice){ digits, SHA1_DIGITS });
}

/* ---- refusal ---- */

struct names {
    struct slice name[NAMES_MAX];
    size_t count;
};

static void note_name(struct names *names, struct slice name) {
    for (size_t i = 0; i < names->count; i++) {
        const struct slice *known = &names->name[i];

        if (known->len == name.len && strncasecmp(known->ptr, name.ptr, name.len) == 0)
            return;
    }
    if (names->count < NAMES_MAX)
        names->name[names->count++] = name;
}

/* The name between quotes at the beginning of text; empty if there is none. */
static struct slice quoted_name(struct slice text) {
    size_t len = 1;

    if (text.len == 0 || (text.ptr[0] != '\'' && text.ptr[0] != '"'))
        return (struct slice){ "", 0 };
    while (len < text.len && len <= NAME_MAX_LEN &&
           (isalnum((unsigned char)text.ptr[len]) || text.ptr[len] == '_'))
        len++;
    if (len == text.len || text.ptr[len] != text.ptr[0])
        return (struct slice){ "", 0 };
    return (struct slice){ text.ptr + 1, len - 1 };
}

/* Finds the commands that the text calls by name and that pgdisque does not have. */
static void find_missing(struct slice text, struct names *names) {
    static const char call[] = "call(";
    const char *end = text.ptr + text.len, *at = text.ptr;

    while ((at = memmem(at, (size_t)(end - at), call, sizeof call - 1)) != NULL) {
        struct slice name;

        at += sizeof call - 1;
        name = quoted_name((struct slice){ at, (size_t)(end - at) });
        if (name.len > 0 && command_lookup(name) == NULL)
            note_name(names, name);
    }
}

static void script_refuse(struct req *r, struct slice text) {
    struct names names = { .count = 0 };
    struct buf list = { 0 };

    if (text.len <= TEXT_MAX)
        find_missing(text, &names);
    for (size_t i = 0; i < names.count; i++)
        buf_printf(&list, "%s%.*s", i == 0 ? "; it calls commands that do not exist here: " : ", ",
                   (int)names.name[i].len, names.name[i].ptr);
    reply_unsupported(
        r,
        "pgdisque does not know this script, and runs no Lua; doc/protocol/server.md lists the known "
        "scripts under EVAL%.*s",
        (int)buf_len(&list), buf_ptr(&list));
    buf_free(&list);
}

/* ---- translation ---- */

/* The number of keys of r after the script. -1: an error has been replied. */
static int64_t keys_or_reply(struct req *r) {
    int64_t keys;

    if (!parse_int_strict(r->argv[2], &keys))
        usage_reply_invalid(r, 2, NOT_AN_INTEGER);
    else if (keys > r->argc - 3)
        reply_error(r, "ERR Number of keys can't be greater than number of args");
    else if (keys < 0)
        reply_error(r, "ERR Number of keys can't be negative");
    else
        return keys;
    return -1;
}

static const struct script *script_or_reply(struct req *r) {
    bool by_text = r->cmd->handler == cmd_eval || r->cmd->handler == cmd_eval_ro;
    const struct script *s = by_text ? find_text(r->argv[1]) : find_sha1(r->argv[1]);

    if (s == NULL && by_text)
        script_refuse(r, r->argv[1]);
    else if (s == NULL)
        reply_error(r, NOSCRIPT);
    return s;
}

/* Replaces the index in *word by the number of elements from 0 to the index. False: an error has been replied. */
static bool count_or_reply(struct req *r, struct slice *word) {
    char *text = req_alloc(r, INT64_DIGITS);
    int64_t index;

    if (!parse_int_strict(*word, &index) || index < 0 || index == INT64_MAX) {
        reply_error(r, NOT_AN_INTEGER);
        return false;
    }
    snprintf(text, INT64_DIGITS, "%lld", (long long)index + 1);
    *word = slice_str(text);
    return true;
}

static bool replace_argv_or_reply(struct req *r, const struct script *s, int64_t keys) {
    struct slice *argv;

    if (s->translate != NULL)
        return s->translate(r, r->argv + 3, r->argv + 3 + keys);
    argv = req_alloc(r, (size_t)(1 + s->keys + s->args) * sizeof *argv);

    argv[0] = slice_str(s->command);
    memcpy(argv + 1, r->argv + 3, (size_t)s->keys * sizeof *argv);
    memcpy(argv + 1 + s->keys, r->argv + 3 + keys, (size_t)s->args * sizeof *argv);
    r->argc = 1 + s->keys + s->args;
    r->argv = argv;
    r->none_is_empty = s->indexed;
    return !s->indexed || count_or_reply(r, &argv[r->argc - 1]);
}

/* A script without a command. The queued commands of a transaction need one. */
static void script_reply_null(struct req *r) {
    if (r->client->multi != NULL)
        reply_error(r, SCRIPT_ALONE);
    else
        reply_null_bulk(r);
}

bool script_exists(struct slice sha1) {
    return find_sha1(sha1) != NULL;
}

const char *script_sha1_or_reply(struct req *r, struct slice text) {
    const struct script *s = find_text(text);

    if (s == NULL)
        script_refuse(r, text);
    return s == NULL ? NULL : s->sha1;
}

bool script_is(const struct command *cmd) {
    return cmd->handler == cmd_eval || cmd->handler == cmd_eval_ro || cmd->handler == cmd_evalsha ||
           cmd->handler == cmd_evalsha_ro;
}

/* The script of r, whose arguments it replaces by those of the command. NULL: as in script_command_or_reply(). */
static const struct script *translated_or_reply(struct req *r) {
    bool reads_only = (r->cmd->flags & CMD_WRITE) == 0;
    int64_t keys = keys_or_reply(r);
    const struct script *s = keys < 0 ? NULL : script_or_reply(r);
    const struct command *cmd;

    if (s == NULL)
        return NULL;
    if (s->command == NULL) {
        script_reply_null(r);
        return NULL;
    }
    cmd = command_lookup(slice_str(s->command));
    if (keys < s->keys || r->argc - 3 - keys < s->args)
        reply_error(r, "ERR Lua redis lib command arguments must be strings or integers");
    else if (reads_only && (cmd->flags & CMD_WRITE))
        reply_error(r, "ERR Write commands are not allowed from read-only scripts.");
    else if (replace_argv_or_reply(r, s, keys) && command_names_fit_or_reply(r, cmd) &&
             (r->user->all || rights_allow_or_reply(r, cmd)))
        return s;
    return NULL;
}

const struct command *script_command_or_reply(struct req *r) {
    const struct script *s = translated_or_reply(r);

    if (s != NULL && s->run == NULL)
        return command_lookup(slice_str(s->command));
    if (s != NULL)
        reply_error(r, SCRIPT_ALONE);
    return NULL;
}

void script_run(struct req *r) {
    const struct script *s = translated_or_reply(r);

    if (s == NULL) {
        req_end(r);
        return;
    }
    r->cmd = command_lookup(slice_str(s->command));
    if (s->run != NULL)
        s->run(r);
    else
        r->cmd->handler(r);
}
