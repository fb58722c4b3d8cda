/* Errors about the arguments of a command, with its synopsis. */
#include "net/usage.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/spelling.h"
#include "net/command_spec.h"

#define SHOWN 64
#define TEXT_SIZE 1024
#define NAME_SIZE 32
/* The bytes between the words of a synopsis. */
#define SEPARATORS " []|"

/* ---- the synopsis ---- */

static char *change_case(char text[NAME_SIZE], struct slice name, int (*change)(int)) {
    size_t len = name.len < NAME_SIZE ? name.len : NAME_SIZE - 1;

    for (size_t i = 0; i < len; i++)
        text[i] = (char)change((unsigned char)name.ptr[i]);
    text[len] = '\0';
    return text;
}

const char *usage_name(const struct command *cmd) {
    static char text[NAME_SIZE];

    return change_case(text, slice_str(cmd->name), toupper);
}

/* The synopsis, without a bracket that encloses all of it. */
static struct slice synopsis(const struct command *cmd) {
    struct slice s = slice_str(cmd->args);
    size_t depth = 0;

    if (s.len == 0 || s.ptr[0] != '[')
        return s;
    for (size_t i = 0; i + 1 < s.len; i++) {
        depth += s.ptr[i] == '[';
        depth -= s.ptr[i] == ']';
        if (depth == 0)
            return s;
    }
    return (struct slice){ s.ptr + 1, s.len - 2 };
}

/* Takes the part before the next " | " outside of brackets; false at the end. */
static bool next_alternative(struct slice *rest, struct slice *part) {
    size_t depth = 0, len = 0;

    if (rest->len == 0)
        return false;
    while (len < rest->len && !(depth == 0 && rest->ptr[len] == '|' && rest->ptr[len - 1] == ' ')) {
        depth += rest->ptr[len] == '[';
        depth -= rest->ptr[len] == ']';
        len++;
    }
    *part = (struct slice){ rest->ptr, len < rest->len ? len - 1 : len };
    len = len < rest->len ? len + 2 : len;
    *rest = (struct slice){ rest->ptr + len, rest->len - len };
    return true;
}

static bool usage_is_literal(struct slice word) {
    for (size_t i = 0; i < word.len; i++)
        if (islower((unsigned char)word.ptr[i]))
            return false;
    return isupper((unsigned char)word.ptr[0]);
}

/* True if cmd is a family: its synopsis begins with the name of a member. */
static bool is_family(const struct command *cmd) {
    struct slice rest = synopsis(cmd), alternatives = rest, word, part;

    return (cmd->arity == -2 || cmd->args[0] == '[') && slice_next_word(&rest, SEPARATORS, &word) &&
           usage_is_literal(word) && next_alternative(&alternatives, &part) && alternatives.len > 0;
}

static bool same_word(struct slice a, struct slice b) {
    return a.len == b.len && strncasecmp(a.ptr, b.ptr, a.len) == 0;
}

/* "GET pattern" is the member GET; "A|B key" are the members A and B. */
static struct slice part_names(struct slice part) {
    const char *end = memchr(part.ptr, ' ', part.len);

    return (struct slice){ part.ptr, end == NULL ? part.len : (size_t)(end - part.ptr) };
}

static bool usage_is_member(struct slice part, struct slice name) {
    struct slice names = part_names(part), word;

    while (slice_next_word(&names, SEPARATORS, &word))
        if (same_word(word, name))
            return true;
    return false;
}

/* The synopsis of r's command, or that of the member that it names. */
static struct slice synopsis_of(const struct req *r) {
    struct slice rest = synopsis(r->cmd), part;

    if (!is_family(r->cmd) || r->argc < 2)
        return slice_str(r->cmd->args);
    while (next_alternative(&rest, &part))
        if (usage_is_member(part, r->argv[1]))
            return part;
    return slice_str(r->cmd->args);
}

/* ---- errors ---- */

static void usage_append(char *text, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void usage_append(char *text, const char *fmt, ...) {
    size_t len = strlen(text);
    va_list args;

    va_start(args, fmt);
    vsnprintf(text + len, TEXT_SIZE - len, fmt, args);
    va_end(args);
}

static void append_synopsis(char *text, const struct req *r) {
    struct slice args;

    if (r->cmd == NULL)
        return;
    args = synopsis_of(r);
    usage_append(text, "%s Usage: %s%s%.*s", text[strlen(text) - 1] == '?' ? "" : ".", usage_name(r->cmd),
                 args.len > 0 ? " " : "", (int)args.len, args.ptr);
}

static void reply_with_synopsis(struct req *r, const char *fmt, va_list args) {
    char text[TEXT_SIZE];

    vsnprintf(text, sizeof text, fmt, args);
    append_synopsis(text, r);
    reply_error(r, "%s", text);
}

/* Replies the error and the synopsis; the caller ends r. */
PRINTF_LIKE(2, 3) static void usage_reply(struct req *r, const char *fmt, ...) {
    va_list args;

    va_start(args, fmt);
    reply_with_synopsis(r, fmt, args);
    va_end(args);
}

void usage_error(struct req *r, const char *fmt, ...) {
    va_list args;

    va_start(args, fmt);
    reply_with_synopsis(r, fmt, args);
    va_end(args);
    req_end(r);
}

/* The literal of r's synopsis that word resembles. */
static struct slice nearest_literal(const struct req *r, struct slice word) {
    struct slice rest = r->cmd == NULL ? SLICE("") : synopsis_of(r), candidate;
    struct spelling s;

    spelling_init(&s, word);
    while (slice_next_word(&rest, SEPARATORS, &candidate))
        if (usage_is_literal(candidate))
            spelling_offer(&s, candidate);
    return s.nearest;
}

void usage_unexpected(struct req *r, int at) {
    const char *shown = log_escape(r->argv[at], SHOWN);
    struct slice nearest = nearest_literal(r, r->argv[at]);

    if (nearest.len > 0 && !slice_equal(nearest, r->argv[at]))
        usage_error(r, SYNTAX_ERROR ": unexpected %s, did you mean %.*s?", shown, (int)nearest.len,
                    nearest.ptr);
    else
        usage_error(r, SYNTAX_ERROR ": unexpected %s", shown);
}

void usage_no_value(struct req *r, int at) {
    usage_error(r, SYNTAX_ERROR ": %.*s needs a value",
                (int)(r->argv[at].len < SHOWN ? r->argv[at].len : SHOWN), r->argv[at].ptr);
}

/* The part of the synopsis where word n describes argument n. */
static struct slice fixed_part(struct slice args) {
    const char *bracket = memchr(args.ptr, '[', args.len);
    const char *dots = memmem(args.ptr, args.len, "...", 3);

    return dots != NULL && bracket != NULL ? (struct slice){ args.ptr, (size_t)(bracket - args.ptr) } : args;
}

/* True if word, which is part of args, is an option with a value: no choice such as LEFT|RIGHT, and no flag. */
static bool option_has_value(struct slice args, struct slice word) {
    const char *after = word.ptr + word.len, *end = args.ptr + args.len;

    return usage_is_literal(word) && (word.ptr == args.ptr || word.ptr[-1] != '|') && end - after > 1 &&
           after[0] == ' ' && after[1] != '[' && after[1] != '|';
}

/* True if word, which is part of args, is another choice in the place of the word before: RIGHT of LEFT|RIGHT. */
static bool is_next_choice(struct slice args, struct slice word) {
    return word.ptr > args.ptr && word.ptr[-1] == '|';
}

/* The option before the argument at index at, or the word of the synopsis in its place; empty if both are
 * unknown. */
static struct slice name_of(const struct req *r, int at) {
    struct slice args = synopsis_of(r), rest = args, fixed = fixed_part(args), word;
    int place = 0, first_option = is_family(r->cmd) ? 2 : 1;

    while (slice_next_word(&rest, SEPARATORS, &word))
        if (at > first_option && same_word(word, r->argv[at - 1]) && option_has_value(args, word))
            return word;
    while (slice_next_word(&fixed, SEPARATORS, &word)) {
        place += !is_next_choice(args, word);
        if (place == at)
            return usage_is_literal(word) ? SLICE("") : word;
    }
    return SLICE("");
}

void usage_reply_invalid(struct req *r, int at, const char *error) {
    struct slice name = r->cmd == NULL ? SLICE("") : name_of(r, at);

    usage_reply(r, "%s: got %s%s%.*s", error, log_escape(r->argv[at], SHOWN), name.len > 0 ? " for " : "",
                (int)name.len, name.ptr);
}

void usage_invalid(struct req *r, int at, const char *error) {
    usage_reply_invalid(r, at, error);
    req_end(r);
}

void usage_reply_arity(struct req *r) {
    char member[NAME_SIZE];

    if (is_family(r->cmd) && r->argc > 1)
        usage_reply(r, "ERR wrong number of arguments for '%s|%s' command", r->cmd->name,
                    change_case(member, r->argv[1], tolower));
    else
        usage_reply(r, "ERR wrong number of arguments for '%s' command", r->cmd->name);
}

/* ---- families ---- */

struct slice usage_nearest_member(const struct req *r) {
    struct slice rest = synopsis(r->cmd), part, names, word;
    struct spelling s;

    spelling_init(&s, r->argv[1]);
    while (next_alternative(&rest, &part)) {
        names = part_names(part);
        while (slice_next_word(&names, SEPARATORS, &word))
            spelling_offer(&s, word);
    }
    return s.nearest;
}

static void help_line(struct req *r, struct slice line, size_t indent) {
    char text[TEXT_SIZE];

    snprintf(text, sizeof text, "%*s%.*s", (int)indent, "", (int)line.len, line.ptr);
    reply_status(r, text);
}

void usage_help(struct req *r) {
    struct slice rest = synopsis(r->cmd), part;
    char title[TEXT_SIZE];
    size_t members = 0;

    while (next_alternative(&rest, &part))
        members++;
    snprintf(title, sizeof title, "%s: %s Subcommands are:", usage_name(r->cmd), r->cmd->summary);
    reply_array(r, members + 3);
    help_line(r, slice_str(title), 0);
    rest = synopsis(r->cmd);
    while (next_alternative(&rest, &part))
        help_line(r, part, 0);
    help_line(r, SLICE("HELP"), 0);
    help_line(r, SLICE("Show this list."), 4);
    req_end(r);
}
