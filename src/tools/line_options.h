#ifndef LINE_OPTIONS_H
#define LINE_OPTIONS_H

#include "base/util.h"
#include "config/config.h"

/*
 * The arguments of a tool such as import: --options with and without values, and names. `--` ends the options. Errors
 * are printed to stderr with the name of the tool.
 */
struct tool;

/* Words of the command line. The words live until the process ends. */
struct line_list {
    char **items;
    size_t count;
};

void line_list_free(struct line_list *list);

/* The types of options, with the type of the field that gets the value. */
enum line_type {
    LINE_FLAG,   /* bool; the option has no value */
    LINE_TEXT,   /* char * */
    LINE_WORD,   /* char *; `value` has the allowed words, separated by | */
    LINE_NUMBER, /* int64_t from min to max */
    LINE_LIST,   /* struct line_list; the option may be repeated */
};

struct line_option {
    const char *name; /* with its -- */
    enum line_type type;
    const char *value; /* the value's name in --help; NULL for a flag */
    size_t offset;     /* of the field in the tool's struct */
    int64_t min, max;  /* bounds of a number */
    const char *doc;   /* the meaning and the default, without a full stop */
};

/* Reads the arguments behind the name of the tool: options into the fields of `fields`, other words into names. False
 * after an error message. */
bool line_options_read(const struct tool *tool, int argc, char **argv, void *fields,
                       struct line_list *names) MUST_CHECK;

/* The same for a tool that has_config: the first `named` words are names, and the other words and options are those of
 * the server, which go to config. Returns LINE_RUNS, or the exit status if the tool must not run: 0 after --version,
 * tool->error after an error message. --check is refused. */
#define LINE_RUNS (-1)
int line_config_read(const struct tool *tool, int argc, char **argv, void *fields, size_t named,
                     struct line_list *names) MUST_CHECK;

/* True if line_config_read() has found a configuration file or an option of the server. */
bool line_config_is_given(void);

/* The options of a table as lines of --help. */
void line_options_help(const struct line_option *options, size_t count, struct buf *out);
/* Appends a text in lines of at most LINE_COLUMNS. Each line but the first begins with `indent` blanks. */
#define LINE_COLUMNS 100
void line_wrap(struct buf *out, const char *text, size_t indent);

/* Prints "pgdisque <tool>: why: what" and returns false. Control characters are escaped. */
bool line_refuse(const char *tool, const char *why, const char *what);

/* Prints the text for --help or --version. False if the action is another one. */
bool line_print(enum config_action action);

#endif
