/* Finds the key arguments of a command by its synopsis. */
#include "commands/command_keys.h"

#include "base/glob.h"
#include "commands/command_docs.h"

static const char *const key_names[] = { "queue", "key", "newkey", "source", "destination" };

/* An optional argument is a key only after a count: [key ...] after numkeys. */
static bool is_key(const struct doc_arg *a, bool counted) {
    for (size_t i = 0; i < LENGTH(key_names); i++) {
        if ((!a->optional || counted) && a->type == DOC_STRING && slice_is(a->name, key_names[i]))
            return true;
    }
    return false;
}

static bool is_count_of_keys(const struct doc_arg *a) {
    return slice_is(a->name, "numkeys");
}

/* True if a literal precedes the value. */
static bool has_word(const struct doc_arg *a) {
    return a->token.len > 0 && a->type != DOC_PURE_TOKEN;
}

static const struct doc_arg *arg_at(const struct doc *doc, short place) {
    return place < 0 ? NULL : &doc->args[place];
}

static const struct doc_arg *next_arg(const struct doc *doc, const struct doc_arg *a) {
    return arg_at(doc, a->next);
}

/* The number of arguments that must follow a. */
static int required_after(const struct doc *doc, const struct doc_arg *a) {
    int count = 0;

    while ((a = next_arg(doc, a)) != NULL)
        count += a->optional ? 0 : 1 + has_word(a);
    return count;
}

/* In "key value [key value ...]" the bracket repeats the arguments from the first. Returns their number if the first is
 * a key; 0: a is something else. */
static int repeated_group(const struct doc *doc, const struct doc_arg *a) {
    const struct doc_arg *first = arg_at(doc, doc->first), *again = arg_at(doc, a->first);

    if (a->type != DOC_BLOCK || !a->optional || !is_key(first, false))
        return 0;
    for (; again != NULL; again = next_arg(doc, again), first = next_arg(doc, first)) {
        if (first == a || !slice_equal(first->name, again->name))
            return 0;
    }
    return first == a ? a->children : 0;
}

/* ---- positions in all calls ---- */

static void extend(struct key_range *range, const struct doc *doc, const struct doc_arg *a, int place) {
    place += has_word(a);
    if (range->first == 0)
        range->first = place;
    range->last = a->multiple ? -1 - required_after(doc, a) : place;
    range->step = 1;
}

struct key_range command_key_range(const struct command *cmd) {
    struct key_range range = { 0 };
    bool fixed = true, counted = false;
    struct doc doc;
    int place = 1;

    if (!doc_parse(cmd->args, &doc) || doc.children == 0)
        return range;
    for (const struct doc_arg *a = arg_at(&doc, doc.first); a != NULL; a = next_arg(&doc, a)) {
        bool key = is_key(a, counted);

        if (key && fixed)
            extend(&range, &doc, a, place);
        range.movable = range.movable || (key && !fixed);
        counted = counted || is_count_of_keys(a);
        if (repeated_group(&doc, a) > 0) {
            range.last = -1;
            range.step = repeated_group(&doc, a);
        }
        fixed = fixed && !a->optional && !a->multiple && !counted;
        place += 1 + has_word(a);
    }
    return range;
}

int key_range_next(const struct key_range *range, int argc, int at) {
    int last = range->last < 0 ? argc + range->last : range->last;
    int next = at == 0 ? range->first : at + range->step;

    return !range->movable && next > at && next <= last && next < argc ? next : 0;
}

/* ---- positions in one call ---- */

struct finder {
    const struct doc *doc;
    int argc;
    const struct slice *argv;
    int place;       /* index of the next argument */
    bool lost;       /* options came before the argument: only its literal can find it */
    int64_t numkeys; /* 0: not known yet */
    int *out;
    int found;
};

/* The literals of a synopsis contain no special characters of patterns. */
static bool is_word_of(const struct finder *f, const struct doc_arg *a) {
    return f->place < f->argc && glob_match(a->token, f->argv[f->place], true);
}

/* Skips options with their literals and values. */
static void find_word(struct finder *f, const struct doc_arg *a) {
    while (f->place < f->argc && !is_word_of(f, a))
        f->place++;
    f->lost = f->place == f->argc;
}

static bool read_numkeys(struct finder *f) {
    return f->place < f->argc && parse_int_strict(f->argv[f->place++], &f->numkeys) && f->numkeys > 0;
}

static void command_keys_take_keys(struct finder *f, const struct doc_arg *a) {
    int64_t count = a->multiple ? f->argc - f->place - required_after(f->doc, a) : 1;

    if (f->numkeys > 0)
        count = f->numkeys > count ? 0 : f->numkeys;
    for (int64_t i = 0; i < count && f->place < f->argc; i++)
        f->out[f->found++] = f->place++;
}

/* False if the keys after a cannot be found. */
static bool command_keys_step(struct finder *f, const struct doc_arg *a) {
    bool key = is_key(a, f->numkeys > 0);
    int group = repeated_group(f->doc, a);

    for (; group > 0 && f->place < f->argc; f->place += group)
        f->out[f->found++] = f->place;
    if (a->optional && !key) {
        f->lost = true;
        return true;
    }
    if (f->lost && has_word(a))
        find_word(f, a);
    if (f->lost || (has_word(a) && !is_word_of(f, a)))
        return f->lost;
    f->place += has_word(a);
    if (is_count_of_keys(a))
        return read_numkeys(f);
    if (key) {
        command_keys_take_keys(f, a);
        return true;
    }
    f->place++;
    f->lost = a->multiple;
    return true;
}

int command_find_keys(const struct command *cmd, int argc, const struct slice *argv, int *out) {
    struct doc doc;
    struct finder f = { .doc = &doc, .argc = argc, .argv = argv, .place = 1, .out = out };

    if (!doc_parse(cmd->args, &doc) || doc.children == 0)
        return 0;
    for (const struct doc_arg *a = arg_at(&doc, doc.first); a != NULL && command_keys_step(&f, a);
         a = next_arg(&doc, a))
        continue;
    return f.found;
}

/* ---- the use of keys ---- */

#define KEY_FLAGS(name, ...) static const char *const name[] = { __VA_ARGS__, NULL }

KEY_FLAGS(flags_shown, "RO");
KEY_FLAGS(flags_read, "RO", "access");
KEY_FLAGS(flags_taken, "RW", "access", "delete");
KEY_FLAGS(flags_deleted, "RW", "delete");
KEY_FLAGS(flags_removed, "RM", "delete");
KEY_FLAGS(flags_added, "RW", "insert");
KEY_FLAGS(flags_changed, "RW", "update");
KEY_FLAGS(flags_script, "RW", "access", "update");
KEY_FLAGS(flags_replaced, "OW", "update");
KEY_FLAGS(flags_created, "OW", "insert");

/* Commands with other flags than their rights suggest, as in Redis. */
static const struct {
    const char *command;
    const char *const *first;
    const char *const *others;
} special_flags[] = {
    { "del", flags_removed, flags_removed },   { "unlink", flags_removed, flags_removed },
    { "rename", flags_taken, flags_replaced }, { "renamenx", flags_taken, flags_created },
    { "lrem", flags_deleted, NULL },           { "ltrim", flags_deleted, NULL },
    { "eval", flags_script, flags_script },    { "evalsha", flags_script, flags_script },
    { "eval_ro", flags_read, flags_read },     { "evalsha_ro", flags_read, flags_read },
};

const char *const *command_key_flags(const struct command *cmd, size_t index) {
    unsigned given = cmd->flags & (CMD_KEYS_READ | CMD_KEYS_WRITE);

    for (size_t i = 0; i < LENGTH(special_flags); i++) {
        if (slice_is(slice_str(special_flags[i].command), cmd->name))
            return index == 0 ? special_flags[i].first : special_flags[i].others;
    }
    if (cmd->flags & CMD_KEYS_MOVE)
        return index == 0 ? flags_taken : flags_added;
    /* A command that reads its reply from rows may join a transaction. */
    if (!(cmd->flags & CMD_WRITE) && given == 0)
        return cmd->flags & CMD_JOINS ? flags_read : flags_shown;
    if (given == CMD_KEYS_WRITE)
        return flags_added;
    return given == CMD_KEYS_READ ? flags_taken : flags_changed;
}
