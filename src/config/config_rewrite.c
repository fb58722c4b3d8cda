/* CONFIG REWRITE: writes the current values to the configuration file. */
#include "config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/file_replace.h"
#include "base/log.h"
#include "config/config_impl.h"

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
    size_t count;
    bool *replaced = &rw->replaced[o - config_options(&count)];

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
    size_t count;
    const struct config_option *options = config_options(&count);

    for (size_t i = 0; i < count; i++) {
        char *now = config_text(&config, &options[i]);

        if (!same_text(&rw->file, &options[i], now)) {
            if (!rw->marked)
                buf_append_str(&rw->out, "\n" REWRITE_MARK);
            rw->marked = true;
            append_option(rw, &options[i], now);
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

bool config_rewrite(struct slice user_lines, char *err, size_t err_size) {
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
        buf_append(&rw.out, user_lines.ptr, user_lines.len);
        ok = file_replace(config_file(), &rw.out);
    }
    if (!ok)
        snprintf(err, err_size, "Rewriting config file: %s", strerror(errno));
    config_free(&rw.file);
    buf_free(&rw.out);
    free(rw.replaced);
    return ok;
}
