/* Reads the configuration file at start. */
#include "config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/tokenizer.h"
#include "config/config_impl.h"

/* The longest part of a wrong value that an error text repeats, in bytes. */
#define ECHO_MAX 64

static char *file_path;
static char **user_lines;
static size_t user_line_count;

bool config_line_is_user(struct slice raw) {
    while (raw.len > 0 && (raw.ptr[0] == ' ' || raw.ptr[0] == '\t'))
        raw = (struct slice){ raw.ptr + 1, raw.len - 1 };
    return raw.len > 5 && slice_is((struct slice){ raw.ptr, 4 }, "user") &&
           (raw.ptr[4] == ' ' || raw.ptr[4] == '\t');
}

const char *const *config_user_lines(size_t *count) {
    *count = user_line_count;
    return (const char *const *)user_lines;
}

static void note_user_line(struct slice raw) {
    while (raw.len > 0 && strchr("\r\n", raw.ptr[raw.len - 1]) != NULL)
        raw.len--;
    user_lines = xrealloc(user_lines, (user_line_count + 1) * sizeof *user_lines);
    user_lines[user_line_count++] = slice_dup(raw);
}

void config_line_free(struct config_line *line) {
    free(line->bytes);
    line->bytes = NULL;
}

const char *config_line_split(struct config_line *line, struct slice raw) {
    enum word_result result = WORD_END;
    size_t at = 0;

    *line = (struct config_line){ .bytes = slice_dup(raw) };
    if (line->bytes[strspn(line->bytes, " \t\r\n")] == '#')
        return NULL;
    while (line->count < CONFIG_MAX_WORDS &&
           (result = word_next(line->bytes, raw.len, &at, &line->words[line->count])) == WORD_FOUND)
        line->count++;
    if (result == WORD_UNBALANCED)
        return "unbalanced quotes";
    return result == WORD_FOUND ? "too many words" : NULL;
}

struct slice config_join_words(const struct slice *words, size_t count, struct buf *b) {
    size_t before = buf_len(b);

    buf_reserve(b, 1);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buf_append(b, " ", 1);
        buf_append(b, words[i].ptr, words[i].len);
    }
    return (struct slice){ buf_ptr(b) + before, buf_len(b) - before };
}

static void config_file_refuse(const struct config_option *o, const struct slice *value, const char *where,
                               char *err, size_t err_size) {
    struct buf allowed = { 0 };

    config_allowed(o, &allowed);
    buf_append(&allowed, "", 1);
    if (value == NULL)
        snprintf(err, err_size, "%s: %s needs one value: %s", where, o->name, buf_ptr(&allowed));
    else if (o->flags & OPT_SECRET)
        snprintf(err, err_size, "%s: %s takes %s", where, o->name, buf_ptr(&allowed));
    else
        snprintf(err, err_size, "%s: %s takes %s, not %s", where, o->name, buf_ptr(&allowed),
                 log_escape(*value, ECHO_MAX));
    buf_free(&allowed);
}

bool config_apply_words(const struct slice *words, size_t count, const char *where, char *err,
                        size_t err_size) {
    const struct config_option *o = config_find(words[0]);
    struct buf joined = { 0 };
    struct slice value;
    bool ok;

    if (o == NULL) {
        snprintf(err, err_size, "%s: unknown option %s%s", where, log_escape(words[0], ECHO_MAX),
                 config_suggestion(words[0]));
        return false;
    }
    if (count < 2 || (count > 2 && !o->kind->many_words)) {
        config_file_refuse(o, NULL, where, err, err_size);
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
        note_user_line(raw);
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
