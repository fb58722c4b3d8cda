#ifndef TOOL_H
#define TOOL_H

#include <stdio.h>
#include "base/util.h"
#include "tools/line_options.h"

/*
 * The tools: subcommands such as `pgdisque import`, which are processes of their own. tools.def names them. The parser
 * of the command line, --help, the shell completion and the manual are made from these tables.
 */
struct tool_status {
    int status;
    const char *meaning; /* NULL: the end of the table */
};

struct tool {
    const char *name;
    const char *arguments; /* the words behind the name: "queue [body]" */
    const char *summary;   /* one sentence */
    const char *text;      /* paragraphs of --help, separated by "\n\n" */
    const char *example;   /* a command line */
    const struct line_option *options;
    size_t option_count;
    bool has_config; /* also takes a configuration file and the options of the server */
    int error;       /* the exit status after a wrong argument */
    const struct tool_status *statuses;
    /* argv[1] is the name. Returns the exit status. --help is handled already. */
    int (*run)(const struct tool *tool, int argc, char **argv);
};

#define TOOL_OPTIONS(table) .options = (table), .option_count = LENGTH(table)
#define TOOL_STATUSES(...)                     \
    .statuses = (const struct tool_status[]) { \
        __VA_ARGS__, {                         \
            0, NULL                            \
        }                                      \
    }

/* The module of a tool defines its tool_<name>. */
#define TOOL(name) extern const struct tool tool_##name;
#include "tools/tools.def"
#undef TOOL

/* The tools in the order of tools.def. */
const struct tool *const *tools_all(size_t *count);
/* The tool that the arguments name, or NULL. */
const struct tool *tool_named(int argc, char **argv);
/* The name of the tool that a misspelt or shortened word means. Empty if there is none, or several. */
struct slice tool_nearest(const char *word);
/* Prints the text of `pgdisque --help`. */
void tools_help(void);
/* Runs the tool, or prints its --help. Returns the exit status. */
int tool_run(const struct tool *tool, int argc, char **argv);

#endif
