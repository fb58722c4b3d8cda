/* The arguments of a tool: options and names, and the text of --help. */
#include "tools/line_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"
#include "tools/terminal_text.h"
#include "tools/tool.h"
#include "version.h"

/* The column of the meanings in --help. */
#define MEANING_COLUMN 26

bool line_refuse(const char *tool, const char *why, const char *what) {
    struct buf text = { 0 };

    buf_printf(&text, "pgdisque %s: %s%s%s", tool, why, *what != '\0' ? ": " : "", what);
    terminal_print(stderr, (struct slice){ buf_ptr(&text), buf_len(&text) });
    fputc('\n', stderr);
    buf_free(&text);
    return false;
}

/* ---- words ---- */

static void line_list_add(struct line_list *list, char *word) {
    list->items = xrealloc(list->items, (list->count + 1) * sizeof *list->items);
    list->items[list->count++] = word;
}

void line_list_free(struct line_list *list) {
    free(list->items);
    *list = (struct line_list){ 0 };
}

static bool is_line_word(const char *words, const char *text) {
    struct slice rest = slice_str(words), word;

    while (slice_next_word(&rest, "|", &word)) {
        if (slice_equal(word, slice_str(text)))
            return true;
    }
    return false;
}

static bool take_line_number(const struct tool *tool, const struct line_option *o, const char *text,
                             int64_t *out) {
    char why[120];

    if (parse_int_strict(slice_str(text), out) && *out >= o->min && *out <= o->max)
        return true;
    snprintf(why, sizeof why, "%s must be a number from %lld to %lld", o->name, (long long)o->min,
             (long long)o->max);
    return line_refuse(tool->name, why, text);
}

static bool take_line_word(const struct tool *tool, const struct line_option *o, char *text, char **out) {
    char why[200];

    *out = text;
    if (is_line_word(o->value, text))
        return true;
    snprintf(why, sizeof why, "%s must be %s", o->name, o->value);
    return line_refuse(tool->name, why, text);
}

static bool take_line_value(const struct tool *tool, const struct line_option *o, char *text, void *field) {
    switch (o->type) {
    case LINE_NUMBER:
        return take_line_number(tool, o, text, field);
    case LINE_WORD:
        return take_line_word(tool, o, text, field);
    case LINE_LIST:
        line_list_add(field, text);
        return true;
    default:
        *(char **)field = text;
        return true;
    }
}

static const struct line_option *line_option_of(const struct tool *tool, const char *word) {
    for (size_t i = 0; i < tool->option_count; i++) {
        if (strcmp(tool->options[i].name, word) == 0)
            return &tool->options[i];
    }
    return NULL;
}

/* Reads the option at *at. *at moves to the option's value, if it takes one. */
static bool take_option(const struct tool *tool, int argc, char **argv, int *at, const struct line_option *o,
                        void *fields) {
    void *field = (char *)fields + o->offset;

    if (o->type == LINE_FLAG) {
        *(bool *)field = true;
        return true;
    }
    if (*at + 1 >= argc)
        return line_refuse(tool->name, "a value is missing", argv[*at]);
    *at += 1;
    return take_line_value(tool, o, argv[*at], field);
}

static bool looks_like_option(const char *word) {
    return word[0] == '-' && word[1] != '\0';
}

static bool line_refuse_option(const struct tool *tool, const char *word) {
    char question[SPELLING_QUESTION_SIZE], *what;
    struct spelling s;

    spelling_init(&s, slice_str(word));
    for (size_t i = 0; i < tool->option_count; i++)
        spelling_offer(&s, slice_str(tool->options[i].name));
    spelling_question(s.nearest, question);
    what = xasprintf("%s%s", word, question);
    line_refuse(tool->name,
                question[0] != '\0'
                    ? "there is no such option"
                    : "there is no such option; --help lists the options. Words after -- are no options",
                what);
    free(what);
    return false;
}

/* A tool without a configuration takes no word that looks like an option, except after "--". */
static bool read_words(const struct tool *tool, int argc, char **argv, void *fields,
                       struct line_list *others) {
    bool options = true;

    for (int i = 2; i < argc; i++) {
        const struct line_option *o = options ? line_option_of(tool, argv[i]) : NULL;

        if (o == NULL && options && !tool->has_config && strcmp(argv[i], "--") == 0)
            options = false;
        else if (o == NULL && options && !tool->has_config && looks_like_option(argv[i]))
            return line_refuse_option(tool, argv[i]);
        else if (o == NULL)
            line_list_add(others, argv[i]);
        else if (!take_option(tool, argc, argv, &i, o, fields))
            return false;
    }
    return true;
}

bool line_options_read(const struct tool *tool, int argc, char **argv, void *fields,
                       struct line_list *names) {
    return read_words(tool, argc, argv, fields, names);
}

/* ---- the options of the server ---- */

bool line_print(enum config_action action) {
    if (action == CONFIG_HELP)
        tools_help();
    else if (action == CONFIG_VERSION)
        printf("pgdisque %s (%s%s)\n", PGDISQUE_VERSION, PGDISQUE_GIT_SHA1,
               PGDISQUE_GIT_DIRTY ? ", modified" : "");
    else
        return false;
    return true;
}

static bool config_is_given;

bool line_config_is_given(void) {
    return config_is_given;
}

/* words[0] is not read. */
static int read_config(const struct tool *tool, const struct line_list *words) {
    enum config_action action;
    char err[512];

    if (!config_parse_args((int)words->count, words->items, &action, err, sizeof err)) {
        line_refuse(tool->name, err, "");
        return tool->error;
    }
    if (action == CONFIG_CHECK) {
        line_refuse(tool->name, "this option checks the configuration of a server", "--check");
        return tool->error;
    }
    return line_print(action) ? 0 : LINE_RUNS;
}

int line_config_read(const struct tool *tool, int argc, char **argv, void *fields, size_t named,
                     struct line_list *names) {
    struct line_list others = { 0 }, words = { 0 };
    int status = tool->error;

    line_list_add(&words, argv[0]);
    if (read_words(tool, argc, argv, fields, &others)) {
        for (size_t i = 0; i < others.count; i++) {
            bool is_name =
                names != NULL && names->count < named && i == names->count && others.items[i][0] != '-';

            line_list_add(is_name ? names : &words, others.items[i]);
        }
        config_is_given = words.count > 1;
        status = read_config(tool, &words);
    }
    line_list_free(&others);
    line_list_free(&words);
    return status;
}

/* ---- --help ---- */

void line_wrap(struct buf *out, const char *text, size_t indent) {
    size_t column = indent;
    struct slice rest = slice_str(text), word;

    while (slice_next_word(&rest, " ", &word)) {
        if (column > indent && column + 1 + word.len > LINE_COLUMNS) {
            buf_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        }
        if (column > indent) {
            buf_append_str(out, " ");
            column++;
        }
        buf_append(out, word.ptr, word.len);
        column += word.len;
    }
}

void line_options_help(const struct line_option *options, size_t count, struct buf *out) {
    for (size_t i = 0; i < count; i++) {
        const struct line_option *o = &options[i];
        size_t begin = buf_len(out), len;

        buf_printf(out, "  %s%s%s", o->name, o->value != NULL ? " " : "", o->value != NULL ? o->value : "");
        len = buf_len(out) - begin;
        if (len + 2 > MEANING_COLUMN)
            buf_printf(out, "\n%*s", MEANING_COLUMN, "");
        else
            buf_printf(out, "%*s", (int)(MEANING_COLUMN - len), "");
        line_wrap(out, o->doc, MEANING_COLUMN);
        buf_append_str(out, "\n");
    }
}
