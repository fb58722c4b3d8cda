/* Selectors: parse rules, describe rules, check calls. */
#include "acl/selector.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"

const char *rule_error_text(enum rule_error error) {
    static const char *const texts[] = {
        [RULE_OK] = "",
        [RULE_SYNTAX] = "Syntax error",
        [RULE_UNKNOWN_COMMAND] = "Unknown command or category name in ACL",
        [RULE_AFTER_ALL_QUEUES] =
            "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any "
            "effect. Try 'resetkeys' to start with an empty list of patterns",
        [RULE_AFTER_ALL_CHANNELS] =
            "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have "
            "any effect. Try 'resetchannels' to start with an empty list of channels",
        [RULE_NO_SUCH_PASSWORD] = "The password you are trying to remove from the user does not exist",
        [RULE_BAD_HASH] = "The password hash must be exactly 64 characters and contain only lowercase "
                          "hexadecimal characters",
        [RULE_DUPLICATE_USER] = "Duplicate user found. A user can only be defined once in config files",
        [RULE_FIRST_ARG_OF_SUBCOMMAND] = "Allowing first-arg of a subcommand is not supported",
        [RULE_TOO_MANY] = "The limit of patterns, passwords or selectors of a user is reached",
    };

    return texts[error];
}

/* ---- patterns ---- */

static void patterns_clear(struct acl_patterns *p) {
    for (size_t i = 0; i < p->count; i++)
        free(p->all[i].text);
    free(p->all);
    *p = (struct acl_patterns){ 0 };
}

static void patterns_add(struct acl_patterns *p, struct slice text, unsigned access) {
    p->all = xrealloc(p->all, (p->count + 1) * sizeof *p->all);
    p->all[p->count++] = (struct acl_pattern){ access, slice_dup(text), text.len };
}

static void patterns_copy(struct acl_patterns *to, const struct acl_patterns *from) {
    *to = (struct acl_patterns){ 0 };
    for (size_t i = 0; i < from->count; i++)
        patterns_add(to, (struct slice){ from->all[i].text, from->all[i].len }, from->all[i].access);
}

static struct slice pattern_text(const struct acl_pattern *p) {
    return (struct slice){ p->text, p->len };
}

static bool has_blank(struct slice text) {
    for (size_t i = 0; i < text.len; i++) {
        if (isspace((unsigned char)text.ptr[i]) || text.ptr[i] == '\0')
            return true;
    }
    return false;
}

/* A pattern that is there already gets the access in addition. */
static enum rule_error pattern_put(struct acl_patterns *p, struct slice text, unsigned access) {
    if (has_blank(text) || text.len > PATTERN_MAX)
        return RULE_SYNTAX;
    for (size_t i = 0; i < p->count; i++) {
        if (slice_equal(pattern_text(&p->all[i]), text)) {
            p->all[i].access |= access;
            return RULE_OK;
        }
    }
    if (p->count == SELECTOR_PATTERNS_MAX)
        return RULE_TOO_MANY;
    patterns_add(p, text, access);
    return RULE_OK;
}

static struct slice rule_rest(struct slice s, size_t at) {
    return (struct slice){ s.ptr + at, s.len - at };
}

static enum rule_error apply_queue(struct selector *s, struct slice rule) {
    unsigned access = rule.ptr[0] == '~' ? ACL_READ_WRITE : 0;
    size_t at = 1;

    if (s->all_queues)
        return RULE_AFTER_ALL_QUEUES;
    for (; rule.ptr[0] == '%' && at < rule.len && rule.ptr[at] != '~'; at++) {
        char letter = (char)toupper((unsigned char)rule.ptr[at]);
        unsigned added = letter == 'R' ? ACL_READ : letter == 'W' ? ACL_WRITE : 0;

        if (added == 0 || (access & added) != 0)
            return RULE_SYNTAX;
        access |= added;
    }
    if (access == 0 || (rule.ptr[0] == '%' && at == rule.len))
        return RULE_SYNTAX;
    return pattern_put(&s->queues, rule_rest(rule, rule.ptr[0] == '%' ? at + 1 : 1), access);
}

static enum rule_error apply_channel(struct selector *s, struct slice rule) {
    if (s->all_channels)
        return RULE_AFTER_ALL_CHANNELS;
    return pattern_put(&s->channels, rule_rest(rule, 1), 0);
}

/* ---- commands ---- */

static void right_set(struct selector *s, unsigned right, bool allow) {
    uint64_t bit = (uint64_t)1 << right % 64;

    if (allow)
        s->rights[right / 64] |= bit;
    else
        s->rights[right / 64] &= ~bit;
}

static bool right_is_set(const struct selector *s, unsigned right) {
    return (s->rights[right / 64] >> right % 64 & 1) != 0;
}

static void forget_first_args(struct selector *s, int right) {
    size_t kept = 0;

    for (size_t i = 0; i < s->first_arg_count; i++) {
        if (right >= 0 && s->first_args[i].right != (unsigned)right)
            s->first_args[kept++] = s->first_args[i];
        else
            free(s->first_args[i].text);
    }
    s->first_arg_count = kept;
}

/* A right to a command is a right to all its subcommands. */
static void change_right(struct selector *s, unsigned right, bool allow) {
    right_set(s, right, allow);
    forget_first_args(s, (int)right);
    for (unsigned i = 0; right_at(right)->family && i < rights_count(); i++) {
        if (right_at(i)->command == (int)right)
            right_set(s, i, allow);
    }
    if (!allow)
        s->all_commands = false;
}

static void forget_rules(struct selector *s) {
    for (size_t i = 0; i < s->rule_count; i++)
        free(s->rules[i]);
    s->rule_count = 0;
}

/* True if the rule is for the same command or category as name, or for a subcommand of it. */
static bool rule_is_for(const char *rule, const char *name) {
    size_t len = strlen(name);

    return strncmp(rule + 1, name, len) == 0 && (rule[1 + len] == '\0' || rule[1 + len] == '|');
}

/* A new rule replaces earlier rules for the same command, because they have no effect any more. */
static void note_rule(struct selector *s, struct slice name, bool allow) {
    char *text = xasprintf("%c%.*s", allow ? '+' : '-', (int)name.len, name.ptr);
    size_t kept = 0;

    for (char *c = text; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    for (size_t i = 0; i < s->rule_count; i++) {
        if (rule_is_for(s->rules[i], text + 1))
            free(s->rules[i]);
        else
            s->rules[kept++] = s->rules[i];
    }
    s->rules = xrealloc(s->rules, (kept + 1) * sizeof *s->rules);
    s->rules[kept] = text;
    s->rule_count = kept + 1;
}

static void apply_all_commands(struct selector *s, bool allow) {
    memset(s->rights, allow ? 0xff : 0, sizeof s->rights);
    s->all_commands = s->from_all = allow;
    forget_rules(s);
    forget_first_args(s, -1);
}

static enum rule_error apply_category(struct selector *s, struct slice rule, bool allow) {
    int category = category_find(rule_rest(rule, 2));

    if (category < 0)
        return RULE_UNKNOWN_COMMAND;
    note_rule(s, rule_rest(rule, 1), allow);
    for (unsigned i = 0; i < rights_count(); i++) {
        if ((right_at(i)->categories >> category & 1) != 0)
            change_right(s, i, allow);
    }
    return RULE_OK;
}

/* +command|argument, for a command without subcommands. */
static enum rule_error apply_first_arg(struct selector *s, struct slice name, struct slice arg) {
    int right = right_find(name);

    if (right < 0)
        return RULE_UNKNOWN_COMMAND;
    if (right_at((unsigned)right)->command >= 0)
        return RULE_FIRST_ARG_OF_SUBCOMMAND;
    if (arg.len == 0 || has_blank(arg))
        return RULE_SYNTAX;
    if (right_at((unsigned)right)->family)
        return RULE_UNKNOWN_COMMAND;
    if (s->first_arg_count == SELECTOR_FIRST_ARGS_MAX || arg.len > PATTERN_MAX)
        return RULE_TOO_MANY;
    s->first_args = xrealloc(s->first_args, (s->first_arg_count + 1) * sizeof *s->first_args);
    s->first_args[s->first_arg_count++] = (struct first_arg){ (unsigned)right, slice_dup(arg) };
    return RULE_OK;
}

static enum rule_error apply_command(struct selector *s, struct slice rule, bool allow) {
    struct slice name = rule_rest(rule, 1);
    const char *bar = memrchr(name.ptr, '|', name.len);
    int right = right_find(name);
    enum rule_error error = RULE_OK;

    if (right >= 0)
        change_right(s, (unsigned)right, allow);
    else if (bar != NULL && allow)
        error = apply_first_arg(s, (struct slice){ name.ptr, (size_t)(bar - name.ptr) },
                                rule_rest(name, (size_t)(bar - name.ptr) + 1));
    else
        error = RULE_UNKNOWN_COMMAND;
    if (error == RULE_OK)
        note_rule(s, name, allow);
    return error;
}

/* ---- rules ---- */

static enum rule_error apply_word(struct selector *s, struct slice rule) {
    if (slice_is(rule, "allkeys") || slice_equal(rule, SLICE("~*")) || slice_is(rule, "resetkeys")) {
        s->all_queues = !slice_is(rule, "resetkeys");
        patterns_clear(&s->queues);
    } else if (slice_is(rule, "allchannels") || slice_equal(rule, SLICE("&*")) ||
               slice_is(rule, "resetchannels")) {
        s->all_channels = !slice_is(rule, "resetchannels");
        patterns_clear(&s->channels);
    } else if (slice_is(rule, "allcommands") || slice_is(rule, "+@all"))
        apply_all_commands(s, true);
    else if (slice_is(rule, "nocommands") || slice_is(rule, "-@all"))
        apply_all_commands(s, false);
    else
        return RULE_SYNTAX;
    return RULE_OK;
}

enum rule_error selector_apply(struct selector *s, struct slice rule) {
    bool allow = rule.len > 0 && rule.ptr[0] == '+';
    bool command = rule.len > 0 && (allow || rule.ptr[0] == '-');

    if (apply_word(s, rule) == RULE_OK)
        return RULE_OK;
    if (command && rule.len > 1 && rule.ptr[1] == '@')
        return apply_category(s, rule, allow);
    if (command)
        return apply_command(s, rule, allow);
    if (rule.len > 0 && (rule.ptr[0] == '~' || rule.ptr[0] == '%'))
        return apply_queue(s, rule);
    if (rule.len > 0 && rule.ptr[0] == '&')
        return apply_channel(s, rule);
    return RULE_SYNTAX;
}

/* ---- life ---- */

void selector_init(struct selector *s) {
    *s = (struct selector){ 0 };
}

void selector_free(struct selector *s) {
    patterns_clear(&s->queues);
    patterns_clear(&s->channels);
    forget_rules(s);
    forget_first_args(s, -1);
    free(s->rules);
    free(s->first_args);
}

void selector_copy(struct selector *to, const struct selector *from) {
    *to = *from;
    patterns_copy(&to->queues, &from->queues);
    patterns_copy(&to->channels, &from->channels);
    to->rules = xcalloc(from->rule_count + 1, sizeof *to->rules);
    for (size_t i = 0; i < from->rule_count; i++)
        to->rules[i] = xstrdup(from->rules[i]);
    to->first_args = xcalloc(from->first_arg_count + 1, sizeof *to->first_args);
    for (size_t i = 0; i < from->first_arg_count; i++)
        to->first_args[i] =
            (struct first_arg){ from->first_args[i].right, xstrdup(from->first_args[i].text) };
}

/* ---- description ---- */

void selector_describe_commands(const struct selector *s, struct buf *out) {
    buf_append_str(out, s->from_all ? "+@all" : "-@all");
    for (size_t i = 0; i < s->rule_count; i++)
        buf_printf(out, " %s", s->rules[i]);
}

/* The rule ~* permits no further pattern, so the pattern * has the long form: other patterns may follow it. */
static const char *access_mark(const struct acl_pattern *p) {
    if (p->access != ACL_READ_WRITE)
        return p->access == ACL_READ ? "%R~" : "%W~";
    return slice_equal(pattern_text(p), SLICE("*")) ? "%RW~" : "~";
}

void selector_describe_queues(const struct selector *s, struct buf *out) {
    if (s->all_queues)
        buf_append_str(out, "~*");
    for (size_t i = 0; i < s->queues.count; i++) {
        buf_append_str(out, i == 0 ? "" : " ");
        buf_append_str(out, access_mark(&s->queues.all[i]));
        buf_append(out, s->queues.all[i].text, s->queues.all[i].len);
    }
}

void selector_describe_channels(const struct selector *s, struct buf *out) {
    if (s->all_channels)
        buf_append_str(out, "&*");
    for (size_t i = 0; i < s->channels.count; i++) {
        buf_append_str(out, i == 0 ? "&" : " &");
        buf_append(out, s->channels.all[i].text, s->channels.all[i].len);
    }
}

void selector_describe(const struct selector *s, struct buf *out) {
    selector_describe_queues(s, out);
    if (s->all_queues || s->queues.count > 0)
        buf_append_str(out, " ");
    if (!s->all_channels)
        buf_append_str(out, "resetchannels ");
    selector_describe_channels(s, out);
    if (s->all_channels || s->channels.count > 0)
        buf_append_str(out, " ");
    selector_describe_commands(s, out);
}

/* ---- checks ---- */

bool selector_has_all(const struct selector *s) {
    return s->all_commands && s->all_queues && s->all_channels;
}

bool selector_may_run(const struct selector *s, unsigned right, const struct slice *first_arg) {
    if (s->all_commands || right_is_set(s, right))
        return true;
    for (size_t i = 0; i < s->first_arg_count && first_arg != NULL; i++) {
        if (s->first_args[i].right == right && slice_is(*first_arg, s->first_args[i].text))
            return true;
    }
    return false;
}

bool selector_may_queue(const struct selector *s, unsigned access, struct slice queue) {
    if (s->all_queues)
        return true;
    for (size_t i = 0; i < s->queues.count; i++) {
        const struct acl_pattern *p = &s->queues.all[i];

        if ((p->access & access) == access && glob_match(pattern_text(p), queue, false))
            return true;
    }
    return false;
}

bool selector_may_channel(const struct selector *s, struct slice channel, bool is_pattern) {
    if (s->all_channels)
        return true;
    for (size_t i = 0; i < s->channels.count; i++) {
        struct slice text = pattern_text(&s->channels.all[i]);

        if (is_pattern ? slice_equal(text, channel) : glob_match(text, channel, false))
            return true;
    }
    return false;
}

enum acl_denial selector_check(const struct selector *s, const struct acl_call *call, int *place) {
    *place = 0;
    if (!call->always && !selector_may_run(s, call->right, call->argc > 1 ? &call->argv[1] : NULL))
        return ACL_DENIED_COMMAND;
    for (size_t i = 0; i < call->queue_count; i++) {
        *place = call->queues[i].place;
        if (!selector_may_queue(s, call->queues[i].access, call->argv[*place]))
            return ACL_DENIED_QUEUE;
    }
    for (size_t i = 0; i < call->channel_count; i++) {
        *place = call->channels[i].place;
        if (!selector_may_channel(s, call->argv[*place], call->channel_patterns))
            return ACL_DENIED_CHANNEL;
    }
    return ACL_ALLOWED;
}
