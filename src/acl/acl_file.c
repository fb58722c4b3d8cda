/* Users in files: reads them all or none, and writes them. */
#include "acl/acl_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/user.h"
#include "base/file_replace.h"
#include "base/log.h"
#include "base/tokenizer.h"
#include "config/config.h"

/* A longer file is refused. */
#define FILE_MAX ((size_t)64 * 1024 * 1024)

struct loaded {
    char *name;
    struct grants grants;
};

/* The users of the lines so far. */
struct loading {
    struct loaded *all;
    size_t count;
    struct buf *err;
};

static void loading_free(struct loading *l) {
    for (size_t i = 0; i < l->count; i++) {
        free(l->all[i].name);
        grants_free(&l->all[i].grants);
    }
    free(l->all);
}

static bool is_loaded(const struct loading *l, struct slice name) {
    for (size_t i = 0; i < l->count; i++) {
        if (slice_equal(slice_str(l->all[i].name), name))
            return true;
    }
    return false;
}

/* An unknown command is named. Other rules may have secrets. */
static void note_wrong_rule(struct loading *l, const char *where, struct slice rule, enum rule_error error) {
    if (error == RULE_UNKNOWN_COMMAND)
        buf_printf(l->err, "%s: Error in applying operation '%.*s': %s. ", where, (int)rule.len, rule.ptr,
                   rule_error_text(error));
    else
        buf_printf(l->err, "%s: %s. ", where, rule_error_text(error));
}

static void load_user(struct loading *l, const char *where, const struct slice *words, size_t count) {
    struct slice *rules = xcalloc(count, sizeof *rules);
    struct buf joined = { 0 };
    struct grants g;
    size_t rule_count;
    bool ok = rules_join(words + 1, count - 1, &joined, rules, &rule_count) < 0;

    if (!ok)
        buf_printf(l->err, "%s: Unmatched parenthesis in selector definition. ", where);
    grants_init(&g);
    for (size_t i = 0; i < rule_count && ok; i++) {
        enum rule_error error = grants_apply(&g, rules[i]);

        ok = error == RULE_OK;
        if (!ok)
            note_wrong_rule(l, where, rules[i], error);
    }
    l->all = xrealloc(l->all, (l->count + 1) * sizeof *l->all);
    l->all[l->count++] = (struct loaded){ slice_dup(words[0]), g };
    free(rules);
    buf_free(&joined);
}

/* words are those after "user". */
static void check_user(struct loading *l, const char *where, const struct slice *words, size_t count) {
    if (!user_name_is_valid(words[0]))
        buf_printf(l->err, "%s: username '%.*s' contains invalid characters. ", where, (int)words[0].len,
                   words[0].ptr);
    else if (is_loaded(l, words[0]))
        buf_printf(l->err, "%s: Duplicate user '%.*s' found. ", where, (int)words[0].len, words[0].ptr);
    else if (l->count == USERS_MAX)
        buf_printf(l->err, "%s: more than %d users. ", where, USERS_MAX);
    else
        load_user(l, where, words, count);
}

/* The next word. Quotes have a meaning in the configuration file only. */
static enum word_result next_word(char *line, size_t *at, bool quotes, struct slice *word) {
    size_t end;

    if (quotes)
        return tokenizer_next(line, strlen(line), at, word);
    *at += strspn(line + *at, " \t\r\n");
    end = *at + strcspn(line + *at, " \t\r\n");
    *word = (struct slice){ line + *at, end - *at };
    *at = end;
    return word->len > 0 ? WORD_FOUND : WORD_END;
}

static void acl_load_line(struct loading *l, const char *where, char *line, bool quotes) {
    struct slice *words = xcalloc(strlen(line) / 2 + 2, sizeof *words);
    enum word_result result;
    size_t count = 0, at = 0;

    while ((result = next_word(line, &at, quotes, &words[count])) == WORD_FOUND)
        count++;
    if (result == WORD_UNBALANCED)
        buf_printf(l->err, "%s: unbalanced quotes in acl line. ", where);
    else if (count == 1 || (count > 0 && !slice_equal(words[0], SLICE("user")) && !quotes))
        buf_printf(l->err, "%s should start with user keyword followed by the username. ", where);
    else if (count > 0)
        check_user(l, where, words + 1, count - 1);
    free(words);
}

/* Removes users that are not loaded, and gives the others their grants. */
static void replace_users(struct loading *l) {
    struct user **old = users_sorted();
    size_t count = users_count();

    for (size_t i = 0; i < count; i++) {
        if (old[i] == default_user)
            users_reset_default();
        else if (!is_loaded(l, user_name(old[i])))
            (void)user_remove(user_name(old[i]));
    }
    free(old);
    for (size_t i = 0; i < l->count; i++) {
        user_put(slice_str(l->all[i].name), l->all[i].grants);
        free(l->all[i].name);
    }
    l->count = 0;
}

static bool end_loading(struct loading *l) {
    bool ok = buf_len(l->err) == 0;

    if (ok)
        replace_users(l);
    loading_free(l);
    return ok;
}

static void acl_load_lines(struct loading *l, char *text) {
    int number = 0;

    for (char *line = text, *end; line != NULL; line = end) {
        char *where = xasprintf("%s:%d", config.aclfile, ++number);

        end = strchr(line, '\n');
        if (end != NULL)
            *end++ = '\0';
        acl_load_line(l, where, line, false);
        free(where);
    }
}

static bool read_file(struct buf *text, struct buf *err) {
    FILE *in = fopen(config.aclfile, "re");
    size_t got = 1;

    while (in != NULL && got > 0 && buf_len(text) <= FILE_MAX) {
        got = fread(buf_reserve(text, BUFSIZ), 1, BUFSIZ, in);
        buf_added(text, got);
    }
    if (in == NULL || ferror(in))
        buf_printf(err, "Error loading ACLs, opening file '%s': %s", config.aclfile, strerror(errno));
    else if (buf_len(text) > FILE_MAX)
        buf_printf(err, "Error loading ACLs, file '%s' is too large", config.aclfile);
    if (in != NULL)
        fclose(in);
    return buf_len(err) == 0;
}

bool acl_file_load(struct buf *err) {
    struct loading l = { .err = err };
    struct buf text = { 0 };
    bool ok = read_file(&text, err);

    if (ok) {
        buf_append(&text, "", 1);
        acl_load_lines(&l, buf_ptr(&text));
        ok = end_loading(&l);
        if (!ok)
            buf_append_str(
                err,
                "WARNING: ACL errors detected, no change to the previously active ACL rules was performed");
    }
    buf_free(&text);
    return ok;
}

static void warn_of_disabled(void) {
    struct user **all = users_sorted();

    for (size_t i = 0; i < users_count(); i++) {
        if (!all[i]->grants.on)
            log_notice("acl", "the user %s is off: no client can log in as this user",
                       log_escape(user_name(all[i]), USER_NAME_MAX));
    }
    free(all);
}

bool acl_file_start(struct buf *err) {
    struct loading l = { .err = err };
    size_t count;
    const struct config_user_line *lines = config_user_lines(&count);
    bool ok;

    if (config.aclfile[0] != '\0' && count > 0) {
        buf_append_str(err, "the configuration file has user lines and aclfile: use only one of them");
        return false;
    }
    if (config.aclfile[0] == '\0' && count == 0)
        return true;
    for (size_t i = 0; i < count; i++) {
        char *line = xstrdup(lines[i].text);

        acl_load_line(&l, lines[i].where, line, true);
        free(line);
    }
    ok = count > 0 ? end_loading(&l) : acl_file_load(err);
    if (ok)
        warn_of_disabled();
    return ok;
}

bool acl_file_save(void) {
    struct buf text = { 0 };
    bool ok;

    users_describe(&text, false);
    ok = file_replace(config.aclfile, &text);
    buf_free(&text);
    return ok;
}
