/* The options: table, values, CONFIG SET, change callbacks, configuration file, CONFIG REWRITE, command line. */
#include "config/config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include "base/file_replace.h"
#include "base/log.h"
#include "base/spelling.h"
#include "base/tokenizer.h"
#include "config/config_kind.h"

/* The longest part of a client's argument that an error text repeats, in bytes. */
#define ECHO_MAX 128
/* The same for an error in a configuration file or on the command line. */
#define LINE_ECHO_MAX 64

struct config config;

static const struct config_name flush_apart[] = {
#define X(id, name) { name, id },
    FLUSH_APART(X)
#undef X
        { NULL, 0 },
};

static const struct config_name debug_access[] = {
#define X(id, name) { name, id },
    DEBUG_ACCESS(X)
#undef X
        { NULL, 0 },
};

static const struct config_name pubsub_defaults[] = {
#define X(id, name) { name, id },
    PUBSUB_DEFAULTS(X)
#undef X
        { NULL, 0 },
};

static const struct config_name job_id_replies[] = {
#define X(id, name) { name, id },
    JOB_ID_REPLIES(X)
#undef X
        { NULL, 0 },
};

static const struct config_name tls_client_auth[] = {
#define X(id, name) { name, id },
    TLS_CLIENT_AUTH(X)
#undef X
        { NULL, 0 },
};

static const struct config_name tls_client_user[] = {
#define X(id, name) { name, id },
    TLS_CLIENT_USER(X)
#undef X
        { NULL, 0 },
};

static const struct config_name durabilities[] = {
#define X(id, name, setting) { name, id },
    DURABILITIES(X)
#undef X
        { NULL, 0 },
};

static const struct config_name log_levels[] = {
#define X(id, name, mark) { name, id },
    LOG_LEVELS(X)
#undef X
        { NULL, 0 },
};

static const struct config_name log_formats[] = {
#define X(id, name) { name, id },
    LOG_FORMATS(X)
#undef X
        { NULL, 0 },
};

static const struct config_name syslog_facilities[] = {
    { "user", LOG_USER },     { "local0", LOG_LOCAL0 },
    { "local1", LOG_LOCAL1 }, { "local2", LOG_LOCAL2 },
    { "local3", LOG_LOCAL3 }, { "local4", LOG_LOCAL4 },
    { "local5", LOG_LOCAL5 }, { "local6", LOG_LOCAL6 },
    { "local7", LOG_LOCAL7 }, { NULL, 0 },
};

static const struct config_name never[] = { { "no", 0 }, { NULL, 0 } };

static const struct config_name maxmemory_policies[] = { { "acks", 0 }, { "noeviction", 1 }, { NULL, 0 } };

static const struct config_name appendfsync_modes[] = {
    { "always", 0 },
    { "everysec", 1 },
    { "no", 2 },
    { NULL, 0 },
};

#define RANGE(lo, hi) .min = lo, .max = hi
#define BYTES(most) .max = most
#define NAMES(table) .names = table
#define NONE .min = 0

static const struct config_option option_rows[] = {
#define SECTION(title)
#define OPTION(kind_, member, name_, text_, bounds, flags_, doc_) \
    { .name = name_,                                              \
      .kind = &config_kind_##kind_,                               \
      .text = text_,                                              \
      .offset = offsetof(struct config, member),                  \
      .flags = flags_,                                            \
      .doc = doc_,                                                \
      bounds },
#include "config/options.def"
#undef OPTION
#undef SECTION
};

static void *config_field_of(struct config *c, const struct config_option *o) {
    return (char *)c + o->offset;
}

static const void *const_field_of(const struct config *c, const struct config_option *o) {
    return (const char *)c + o->offset;
}

const struct config_option *config_options(size_t *count) {
    *count = LENGTH(option_rows);
    return option_rows;
}

const struct config_option *config_find(struct slice name) {
    for (size_t i = 0; i < LENGTH(option_rows); i++) {
        if (slice_is(name, option_rows[i].name))
            return &option_rows[i];
    }
    return NULL;
}

static bool config_apply(struct config *c, const struct config_option *o, struct slice text) {
    return o->kind->parse(o, text, config_field_of(c, o));
}

/* The value in the syntax of the file, sizes with units. The caller frees it. */
static char *config_text(const struct config *c, const struct config_option *o) {
    struct buf b = { 0 };
    o->kind->write(const_field_of(c, o), o, &b);
    buf_append(&b, "", 1);
    char *text = xstrdup(buf_ptr(&b));
    buf_free(&b);
    return text;
}

void config_show(const struct config_option *o, struct buf *out) {
    o->kind->show(const_field_of(&config, o), o, out);
}

void config_allowed(const struct config_option *o, struct buf *out) {
    o->kind->allowed(o, out);
}

/* For text that is known to be allowed; any other text ends the process. */
static void config_apply_known(struct config *c, const struct config_option *o, const char *text) {
    if (!config_apply(c, o, slice_str(text)))
        log_fatal("config", "option %s refuses its own value", o->name);
}

/* Sets the defaults. config_free() frees the strings. */
static void config_init(struct config *c) {
    memset(c, 0, sizeof(*c));
    for (size_t i = 0; i < LENGTH(option_rows); i++)
        config_apply_known(c, &option_rows[i], option_rows[i].text);
}

static void config_free(struct config *c) {
    for (size_t i = 0; i < LENGTH(option_rows); i++) {
        if (option_rows[i].kind->owns_string)
            free(*(char **)config_field_of(c, &option_rows[i]));
    }
    memset(c, 0, sizeof(*c));
}

void config_defaults(void) {
    config_free(&config);
    config_init(&config);
}

const char *config_database_redacted(void) {
    static struct buf shown;
    buf_reset(&shown, SIZE_MAX);
    config_show(config_find(SLICE("database")), &shown);
    buf_append(&shown, "", 1);
    return buf_ptr(&shown);
}

/* Change callbacks */

struct watcher {
    const struct config_option *option;
    void (*fn)(void);                          /* NULL: check is set */
    bool (*check)(char *err, size_t err_size); /* NULL: fn is set */
    bool due;
};

static struct watcher *watchers;
static size_t watcher_count;

static void add_watcher(const char *name, struct watcher w) {
    w.option = config_find(slice_str(name));
    if (!w.option)
        log_fatal("config", "there is no option %s to watch", name);
    watchers = xrealloc(watchers, (watcher_count + 1) * sizeof(*watchers));
    watchers[watcher_count++] = w;
}

void config_on_change(const char *name, void (*fn)(void)) {
    add_watcher(name, (struct watcher){ .fn = fn });
}

void config_on_set(const char *name, bool (*fn)(char *err, size_t err_size)) {
    add_watcher(name, (struct watcher){ .check = fn });
}

static void mark_watchers(const struct config_option *o, bool checks) {
    for (size_t i = 0; i < watcher_count; i++) {
        if (watchers[i].option == o && (watchers[i].check != NULL) == checks)
            watchers[i].due = true;
    }
}

/* True if the watcher is due. Then the same function is not due for another option. */
static bool take_watcher(size_t i) {
    if (!watchers[i].due)
        return false;
    for (size_t j = i; j < watcher_count; j++) {
        if (watchers[j].fn == watchers[i].fn && watchers[j].check == watchers[i].check)
            watchers[j].due = false;
    }
    return true;
}

/* Runs each function once, even if several of its options changed. */
static void run_watchers(void) {
    for (size_t i = 0; i < watcher_count; i++) {
        if (watchers[i].check == NULL && take_watcher(i))
            watchers[i].fn();
    }
}

/* Runs each check once. After a failure the others do not run. */
static bool run_checks(char *err, size_t err_size) {
    bool good = true;
    for (size_t i = 0; i < watcher_count; i++) {
        if (watchers[i].check != NULL && take_watcher(i))
            good = good && watchers[i].check(err, err_size);
    }
    return good;
}

int config_own_port(void) {
    return config.port != 0 ? config.port : config.tls_port;
}

/* ---- CONFIG SET ---- */

/* ", did you mean port?" for an unknown name; "" if no option has a similar name. Valid until the next call. */
static const char *config_suggestion(struct slice name) {
    static char text[SPELLING_QUESTION_SIZE];
    struct spelling s;

    spelling_init(&s, name);
    for (size_t i = 0; i < LENGTH(option_rows); i++)
        spelling_offer(&s, slice_str(option_rows[i].name));
    spelling_question(s.nearest, text);
    return text;
}

struct config_change {
    const struct config_option *option;
    char *before;
};

static int echo_len(struct slice s) {
    return (int)(s.len < ECHO_MAX ? s.len : ECHO_MAX);
}

static bool set_one(const struct slice *pair, struct config_change *change, char *err, size_t err_size) {
    const struct config_option *o = config_find(pair[0]);
    if (!o) {
        snprintf(err, err_size, "Unsupported CONFIG parameter: %.*s%s", echo_len(pair[0]), pair[0].ptr,
                 config_suggestion(pair[0]));
        return false;
    }
    if (!(o->flags & OPT_RUNTIME)) {
        snprintf(err, err_size, "Unsupported CONFIG parameter: %s can only be set at start", o->name);
        return false;
    }
    char *before = config_text(&config, o);
    if (!config_apply(&config, o, pair[1])) {
        struct buf allowed = { 0 };
        config_allowed(o, &allowed);
        snprintf(err, err_size, "Invalid argument '%.*s' for CONFIG SET '%.*s': it takes %.*s",
                 echo_len(pair[1]), pair[1].ptr, echo_len(pair[0]), pair[0].ptr, (int)buf_len(&allowed),
                 buf_ptr(&allowed));
        buf_free(&allowed);
        free(before);
        return false;
    }
    *change = (struct config_change){ .option = o, .before = before };
    return true;
}

static void announce(const struct config_change *change) {
    const struct config_option *o = change->option;
    char *now = config_text(&config, o);
    if (strcmp(now, change->before) != 0) {
        log_notice("config", "%s is now %s", o->name,
                   o->flags & OPT_SECRET ? "another one" : log_escape(slice_str(now), ECHO_MAX));
        mark_watchers(o, false);
    }
    free(now);
}

bool config_set_all(const struct slice *pairs, size_t count, char *err, size_t err_size) {
    struct config_change *changes = xcalloc(count, sizeof(*changes));
    size_t done = 0;
    while (done < count && set_one(pairs + 2 * done, &changes[done], err, err_size))
        done++;
    bool ok = done == count;
    for (size_t i = 0; ok && i < done; i++)
        mark_watchers(changes[i].option, true);
    ok = ok && run_checks(err, err_size);
    for (size_t i = 0; ok && i < done; i++)
        announce(&changes[i]);
    while (done > 0) {
        done--;
        if (!ok)
            config_apply_known(&config, changes[done].option, changes[done].before);
        free(changes[done].before);
    }
    free(changes);
    if (ok)
        run_watchers();
    return ok;
}

bool config_set(struct slice name, struct slice value, char *err, size_t err_size) {
    const struct slice pair[2] = { name, value };
    return config_set_all(pair, 1, err, err_size);
}

/* ---- configuration file ---- */

static char *file_path;

/* A line of a file, or an option of the command line, split into words. */
#define CONFIG_MAX_WORDS 64

struct config_line {
    char *bytes; /* holds the words */
    struct slice words[CONFIG_MAX_WORDS];
    size_t count; /* 0: a comment, or an empty line */
};
static struct config_user_line *user_lines;
static size_t user_line_count;

/* True for a line of a user: "user name rule ...". A line with one word after "user" is the option user. */
static bool config_line_is_user(struct slice raw) {
    char *bytes = slice_dup(raw);
    struct slice word;
    size_t at = 0, count = 0;
    bool is_user = true;

    while (count < 3 && tokenizer_next(bytes, raw.len, &at, &word) == WORD_FOUND) {
        is_user = is_user && (count > 0 || slice_is(word, "user"));
        count++;
    }
    free(bytes);
    return is_user && count == 3;
}

const struct config_user_line *config_user_lines(size_t *count) {
    *count = user_line_count;
    return user_lines;
}

static void note_user_line(struct slice raw, const char *where) {
    while (raw.len > 0 && strchr("\r\n", raw.ptr[raw.len - 1]) != NULL)
        raw.len--;
    user_lines = xrealloc(user_lines, (user_line_count + 1) * sizeof *user_lines);
    user_lines[user_line_count++] = (struct config_user_line){ slice_dup(raw), xstrdup(where) };
}

static void config_line_free(struct config_line *line) {
    free(line->bytes);
    line->bytes = NULL;
}

/* NULL, or a text that says what is wrong. The caller calls config_line_free() in both cases. */
static const char *config_line_split(struct config_line *line, struct slice raw) {
    enum word_result result = WORD_END;
    size_t at = 0;

    *line = (struct config_line){ .bytes = slice_dup(raw) };
    if (line->bytes[strspn(line->bytes, " \t\r\n")] == '#')
        return NULL;
    while (line->count < CONFIG_MAX_WORDS &&
           (result = tokenizer_next(line->bytes, raw.len, &at, &line->words[line->count])) == WORD_FOUND)
        line->count++;
    if (result == WORD_UNBALANCED)
        return "unbalanced quotes";
    return result == WORD_FOUND ? "too many words" : NULL;
}

/* Appends the words to b with blanks between them and returns the appended part. */
static struct slice config_join_words(const struct slice *words, size_t count, struct buf *b) {
    size_t before = buf_len(b);

    buf_reserve(b, 1);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buf_append(b, " ", 1);
        buf_append(b, words[i].ptr, words[i].len);
    }
    return (struct slice){ buf_ptr(b) + before, buf_len(b) - before };
}

/* Refuses a line with another number of values than one. */
static void config_refuse_count(const struct config_option *o, const struct slice *values, size_t count,
                                const char *where, char *err, size_t err_size) {
    const char *hint = "";
    struct buf allowed = { 0 };
    char found[64] = "";

    config_allowed(o, &allowed);
    buf_append(&allowed, "", 1);
    if (count > 1)
        snprintf(found, sizeof found, ", but has %zu words", count);
    for (size_t i = 0; i < count && hint[0] == '\0'; i++)
        if (values[i].len > 0 && values[i].ptr[0] == '#')
            hint = ". A comment needs a line of its own";
    if (count > 1 && hint[0] == '\0' && o->kind->owns_string)
        hint = ". Put a value with blanks in quotes";
    snprintf(err, err_size, "%s: %s needs one value%s: %s%s", where, o->name, found, buf_ptr(&allowed), hint);
    buf_free(&allowed);
}

static void config_file_refuse(const struct config_option *o, const struct slice *value, const char *where,
                               char *err, size_t err_size) {
    struct buf allowed = { 0 };

    config_allowed(o, &allowed);
    buf_append(&allowed, "", 1);
    if (o->flags & OPT_SECRET)
        snprintf(err, err_size, "%s: %s takes %s", where, o->name, buf_ptr(&allowed));
    else
        snprintf(err, err_size, "%s: %s takes %s, not %s", where, o->name, buf_ptr(&allowed),
                 log_escape(*value, LINE_ECHO_MAX));
    buf_free(&allowed);
}

/* Sets the option words[0] to the values behind it; count must be at least 1. where is the place for err, such as
 * "file:12". */
static bool config_apply_words(const struct slice *words, size_t count, const char *where, char *err,
                               size_t err_size) {
    const struct config_option *o = config_find(words[0]);
    struct buf joined = { 0 };
    struct slice value;
    bool ok;

    if (o == NULL) {
        snprintf(err, err_size, "%s: unknown option %s%s", where, log_escape(words[0], LINE_ECHO_MAX),
                 config_suggestion(words[0]));
        return false;
    }
    if (count < 2 || (count > 2 && !o->kind->many_words)) {
        config_refuse_count(o, words + 1, count - 1, where, err, err_size);
        return false;
    }
    value = config_join_words(words + 1, count - 1, &joined);
    ok = config_apply(&config, o, value);
    if (!ok)
        config_file_refuse(o, &value, where, err, err_size);
    buf_free(&joined);
    return ok;
}

const char *config_file(void) {
    return file_path;
}

static void remember_path(const char *path) {
    char *absolute = realpath(path, NULL);

    free(file_path);
    file_path = absolute ? absolute : xstrdup(path);
}

static bool load_line(struct slice raw, const char *where, char *err, size_t err_size) {
    struct config_line line;
    const char *wrong;
    bool ok;

    if (config_line_is_user(raw)) {
        note_user_line(raw, where);
        return true;
    }
    wrong = config_line_split(&line, raw);
    ok = wrong == NULL;

    if (!ok)
        snprintf(err, err_size, "%s: %s", where, wrong);
    else if (line.count > 0)
        ok = config_apply_words(line.words, line.count, where, err, err_size);
    config_line_free(&line);
    return ok;
}

static bool load_lines(FILE *in, const char *path, char *err, size_t err_size) {
    char *raw = NULL;
    size_t cap = 0;
    ssize_t len;
    int number = 0;
    bool ok = true;

    while (ok && (len = getline(&raw, &cap, in)) >= 0) {
        char *where = xasprintf("%s:%d", path, ++number);

        ok = load_line((struct slice){ raw, (size_t)len }, where, err, err_size);
        free(where);
    }
    if (ok && ferror(in)) {
        snprintf(err, err_size, "%s: cannot be read: %s", path, strerror(errno));
        ok = false;
    }
    free(raw);
    return ok;
}

bool config_load_file(const char *path, char *err, size_t err_size) {
    FILE *in = fopen(path, "re");
    bool ok;

    if (in == NULL) {
        snprintf(err, err_size, "%s: cannot be opened: %s", path, strerror(errno));
        return false;
    }
    remember_path(path);
    ok = load_lines(in, path, err, err_size);
    fclose(in);
    return ok;
}

/* ---- CONFIG REWRITE ---- */

#define REWRITE_MARK "# Written by CONFIG REWRITE\n"

struct rewrite {
    struct buf out;
    struct config file; /* the values that the lines in out give */
    bool *replaced;     /* for each option: out has a line with the current value */
    bool marked;        /* out has REWRITE_MARK */
};

static bool needs_quotes(const struct config_option *o, const char *text) {
    if (*text == '\0')
        return true;
    for (const char *p = text; *p; p++) {
        if (*p <= ' ' && !(*p == ' ' && o->kind->many_words))
            return true;
        if (*p > '~' || strchr("\"'\\#", *p))
            return true;
    }
    return false;
}

static void append_option(struct rewrite *rw, const struct config_option *o, const char *text) {
    const char *shown = needs_quotes(o, text) ? log_escape(slice_str(text), SIZE_MAX) : text;

    buf_printf(&rw->out, "%s %s\n", o->name, shown);
    config_apply_known(&rw->file, o, text);
}

static bool same_text(const struct config *c, const struct config_option *o, const char *text) {
    char *other = config_text(c, o);
    bool same = strcmp(other, text) == 0;

    free(other);
    return same;
}

/* Does the line give the current value? The texts cannot be compared, because a line of client-output-buffer-limit may
 * name only some of the classes. */
static bool agrees(const struct config_option *o, struct slice value, const char *now) {
    struct config probe;
    bool same;

    config_init(&probe);
    config_apply_known(&probe, o, now);
    same = config_apply(&probe, o, value) && same_text(&probe, o, now);
    config_free(&probe);
    return same;
}

static void keep_line(struct rewrite *rw, struct slice raw) {
    buf_append(&rw->out, raw.ptr, raw.len);
    if (raw.ptr[raw.len - 1] != '\n')
        buf_append(&rw->out, "\n", 1);
    if (slice_equal(raw, SLICE(REWRITE_MARK)))
        rw->marked = true;
}

static void rewrite_option(struct rewrite *rw, const struct config_option *o, const struct config_line *line,
                           struct slice raw) {
    char *now = config_text(&config, o);
    struct buf joined = { 0 };
    struct slice value = config_join_words(line->words + 1, line->count - 1, &joined);
    bool *replaced = &rw->replaced[o - option_rows];

    if (agrees(o, value, now)) {
        keep_line(rw, raw);
        if (!config_apply(&rw->file, o, value))
            log_fatal("config", "option %s refuses its own value", o->name);
    } else if (!*replaced) {
        append_option(rw, o, now);
        *replaced = true;
    }
    buf_free(&joined);
    free(now);
}

static void rewrite_line(struct rewrite *rw, struct slice raw) {
    struct config_line line;
    const struct config_option *o = NULL;

    if (config_line_is_user(raw))
        return;
    if (config_line_split(&line, raw) == NULL && line.count > 0)
        o = config_find(line.words[0]);
    if (o)
        rewrite_option(rw, o, &line, raw);
    else
        keep_line(rw, raw);
    config_line_free(&line);
}

static void append_missing(struct rewrite *rw) {
    for (size_t i = 0; i < LENGTH(option_rows); i++) {
        char *now = config_text(&config, &option_rows[i]);

        if (!same_text(&rw->file, &option_rows[i], now)) {
            if (!rw->marked)
                buf_append_str(&rw->out, "\n" REWRITE_MARK);
            rw->marked = true;
            append_option(rw, &option_rows[i], now);
        }
        free(now);
    }
}

/* Rewrites the lines of the file. A file that does not exist is written as a new file. */
static bool rewrite_lines(struct rewrite *rw) {
    FILE *in = fopen(config_file(), "re");
    char *raw = NULL;
    size_t cap = 0;
    ssize_t len;
    bool ok;

    if (in == NULL)
        return errno == ENOENT;
    while ((len = getline(&raw, &cap, in)) >= 0)
        rewrite_line(rw, (struct slice){ raw, (size_t)len });
    ok = !ferror(in);
    free(raw);
    fclose(in);
    return ok;
}

bool config_rewrite(struct slice lines_of_users, char *err, size_t err_size) {
    struct rewrite rw = { 0 };
    size_t count;
    bool ok;

    if (config_file() == NULL) {
        snprintf(err, err_size, "The server is running without a config file");
        return false;
    }
    config_options(&count);
    rw.replaced = xcalloc(count, sizeof(*rw.replaced));
    config_init(&rw.file);
    ok = rewrite_lines(&rw);
    if (ok) {
        append_missing(&rw);
        buf_append(&rw.out, lines_of_users.ptr, lines_of_users.len);
        ok = file_replace(config_file(), &rw.out);
    }
    if (!ok)
        snprintf(err, err_size, "Rewriting config file: %s", strerror(errno));
    config_free(&rw.file);
    buf_free(&rw.out);
    free(rw.replaced);
    return ok;
}

/* ---- command line ---- */

#define WHERE "command line"

static const struct {
    const char *arg;
    enum config_action action;
} actions[] = {
    { "--help", CONFIG_HELP }, { "-h", CONFIG_HELP },       { "--version", CONFIG_VERSION },
    { "-v", CONFIG_VERSION },  { "--check", CONFIG_CHECK },
};

static bool find_action(const char *arg, enum config_action *action) {
    for (size_t i = 0; i < LENGTH(actions); i++) {
        if (strcmp(arg, actions[i].arg) == 0) {
            *action = actions[i].action;
            return true;
        }
    }
    return false;
}

static bool is_option(const char *arg) {
    return strncmp(arg, "--", 2) == 0;
}

/* Applies "--name value ..." or "--name=value" at argv[*at], and moves *at behind it. */
static bool parse_option(int argc, char **argv, int *at, char *err, size_t err_size) {
    struct slice words[CONFIG_MAX_WORDS];
    size_t count = 1;
    const char *arg = argv[(*at)++];
    const char *equals = strchr(arg, '=');

    if (!is_option(arg)) {
        snprintf(err, err_size, WHERE ": expected --option, not %s",
                 log_escape(slice_str(arg), LINE_ECHO_MAX));
        return false;
    }
    words[0] = slice_str(arg + 2);
    if (equals) {
        words[0].len = (size_t)(equals - arg) - 2;
        words[count++] = slice_str(equals + 1);
    } else {
        while (*at < argc && !is_option(argv[*at]) && count < LENGTH(words))
            words[count++] = slice_str(argv[(*at)++]);
    }
    return config_apply_words(words, count, WHERE, err, err_size);
}

bool config_parse_args(int argc, char **argv, enum config_action *action, char *err, size_t err_size) {
    int at = 1;

    config_defaults();
    *action = CONFIG_RUN;
    if (at < argc && argv[at][0] != '-' && !config_load_file(argv[at++], err, err_size))
        return false;
    while (at < argc) {
        if (find_action(argv[at], action))
            at++;
        else if (!parse_option(argc, argv, &at, err, err_size))
            return false;
    }
    return true;
}

/* The headings and options in the order of options.def; one of the two fields is NULL. */
static const struct {
    const char *section;
    const char *option;
} help_rows[] = {
#define SECTION(title) { title, NULL },
#define OPTION(kind, member, name, ...) { NULL, name },
#include "config/options.def"
#undef OPTION
#undef SECTION
};

const char *config_section_at(size_t i) {
    size_t option = 0;

    for (size_t row = 0; row < LENGTH(help_rows); row++) {
        if (help_rows[row].option != NULL)
            option++;
        else if (option == i)
            return help_rows[row].section;
    }
    return NULL;
}

static void help_option(FILE *out, const struct config_option *o) {
    struct buf allowed = { 0 };

    config_allowed(o, &allowed);
    buf_append(&allowed, "", 1);
    fprintf(out, "  --%s %s\n", o->name, o->text[0] ? o->text : "\"\"");
    fprintf(out, "        %s\n", o->doc);
    fprintf(out, "        Takes %s; %s.\n", buf_ptr(&allowed),
            o->flags & OPT_RUNTIME ? "also by CONFIG SET" : "only at start");
    buf_free(&allowed);
}

void config_help(FILE *out) {
    for (size_t i = 0; i < LENGTH(help_rows); i++) {
        if (help_rows[i].section)
            fprintf(out, "\n%s\n", help_rows[i].section);
        else
            help_option(out, config_find(slice_str(help_rows[i].option)));
    }
}
