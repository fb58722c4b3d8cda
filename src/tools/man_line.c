/* The tool man: prints the manual pages pgdisque(1) and pgdisque.conf(5). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/line_access.h"
#include "tools/tool.h"
#include "version.h"

struct man_line_words {
    struct line_list names;
};

/* ---- roff ---- */

/* Prints one line of text. Quotes are escaped, too, so that the text may be an argument of a macro. */
static void roff_text(const char *text) {
    if (*text == '.' || *text == '\'')
        printf("\\&");
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '\\':
            printf("\\e");
            break;
        case '-':
            printf("\\-");
            break;
        case '"':
            printf("\\(dq");
            break;
        case '\'':
            printf("\\(aq");
            break;
        case '`':
            printf("\\(ga");
            break;
        case '~':
            printf("\\(ti");
            break;
        case '^':
            printf("\\(ha");
            break;
        default:
            putchar(*text);
        }
    }
}

static void roff_line(const char *text) {
    roff_text(text);
    putchar('\n');
}

static void roff_macro(const char *macro, const char *argument) {
    printf(".%s \"", macro);
    roff_text(argument);
    printf("\"\n");
}

/* Prints paragraphs that are separated by "\n\n", or by a line end in the texts of tools. */
static void roff_paragraphs(const char *text) {
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        char *paragraph = slice_dup((struct slice){ text, len });

        printf(".PP\n");
        roff_line(paragraph);
        free(paragraph);
        text += len;
        text += strspn(text, "\n");
    }
}

static void roff_option(const char *name, const char *value, const char *doc) {
    printf(".TP\n.B ");
    roff_text(name);
    if (value != NULL) {
        printf(" \\fI");
        roff_text(value);
        printf("\\fR");
    }
    printf("\n");
    roff_line(doc);
}

static void roff_example(const char *text) {
    printf(".PP\n.in +4n\n.nf\n");
    roff_line(text);
    printf(".fi\n.in\n");
}

/* No date: the same version prints the same page. */
static void roff_head(const char *name, const char *section, const char *summary) {
    printf(".\\\" made by `pgdisque man`\n.TH %s %s \"\" \"pgdisque %s\" \"pgdisque\"\n.SH NAME\n", name,
           section, PGDISQUE_VERSION);
    roff_text(summary);
    printf("\n");
}

/* ---- pgdisque(1) ---- */

static void man_tool(const struct tool *tool) {
    char *synopsis = xasprintf("pgdisque %s %s", tool->name, tool->arguments);

    roff_macro("SS", synopsis);
    free(synopsis);
    roff_line(tool->summary);
    roff_paragraphs(tool->text);
    for (size_t i = 0; i < tool->option_count; i++)
        roff_option(tool->options[i].name, tool->options[i].value, tool->options[i].doc);
    printf(".PP\nExit status:\n");
    for (const struct tool_status *s = tool->statuses; s->meaning != NULL; s++) {
        char number[16];

        snprintf(number, sizeof number, "%d", s->status);
        roff_option(number, NULL, s->meaning);
    }
    printf(".PP\nExample:\n");
    roff_example(tool->example);
}

static void man_of_program(void) {
    size_t count;
    const struct tool *const *all = tools_all(&count);

    roff_head("PGDISQUE", "1",
              "pgdisque - a queue server for Disque and Redis clients that keeps its jobs in Postgres");
    printf(".SH SYNOPSIS\n");
    roff_line("pgdisque [conf-file] [--option value]...");
    printf(".br\n");
    roff_line("pgdisque [conf-file] [--option value]... --check");
    printf(".br\n");
    roff_line("pgdisque tool [argument]...");
    printf(".br\n");
    roff_line("pgdisque --help | --version");
    printf(".SH DESCRIPTION\n");
    roff_line("Without the name of a tool, pgdisque serves clients until SIGTERM or SIGINT. The options are "
              "those of "
              "pgdisque.conf(5), with -- before their names. They override the configuration file.");
    printf(".PP\n");
    roff_line("With --check, it tests the configuration and the database, serves no clients, and ends. A "
              "server may "
              "run at the same time.");
    printf(".SH TOOLS\n");
    for (size_t i = 0; i < count; i++)
        man_tool(all[i]);
    printf(".SH ENVIRONMENT\n");
    roff_option("PGDISQUE_SERVER", NULL, "The address of the server for tools without --server.");
    roff_option(LINE_PASSWORD_OF_SERVER, NULL, "The password for a pgdisque, unless the address has one.");
    roff_option(LINE_PASSWORD_OF_REDIS, NULL, "The password for a Redis, unless the address has one.");
    printf(".SH SIGNALS\n");
    roff_line(
        "The signals SIGTERM and SIGINT stop the server. SIGHUP opens the log file again, and reads the "
        "certificates again.");
    printf(".SH EXIT STATUS\n");
    roff_line(
        "The server ends with 0 after a stop, and with 1 if it cannot start. --check ends with 0 if the "
        "configuration and the database are fine, and with 1 otherwise.");
    printf(".SH SEE ALSO\n.BR pgdisque.conf (5),\n.BR redis\\-cli (1)\n");
}

/* ---- pgdisque.conf(5) ---- */

static void man_option(const struct config_option *o) {
    struct buf allowed = { 0 };

    config_allowed(o, &allowed);
    buf_append(&allowed, "", 1);
    roff_option(o->name, NULL, o->doc);
    printf("Takes ");
    roff_text(buf_ptr(&allowed));
    printf("; %s.\n", o->flags & OPT_RUNTIME ? "also by CONFIG SET" : "only at start");
    printf("Default: ");
    roff_text(o->text[0] != '\0' ? o->text : "\"\"");
    printf("\n");
    buf_free(&allowed);
}

static void man_of_configuration(void) {
    size_t count;
    const struct config_option *options = config_options(&count);

    roff_head("PGDISQUE.CONF", "5", "pgdisque.conf - configuration of pgdisque");
    printf(".SH DESCRIPTION\n");
    roff_line("Each line has the name of an option and its value, as in redis.conf. A value with blanks is "
              "in double "
              "quotes. A line that begins with # is a comment. Lines that begin with user define users.");
    printf(".PP\n");
    roff_line(
        "An option that is not set has its default. The command line overrides the file. Sizes may have the "
        "units k, kb, m, mb, g and gb: 1k is 1000 and 1kb is 1024.");
    printf(".SH OPTIONS\n");
    for (size_t i = 0; i < count; i++) {
        const char *section = config_section_at(i);

        if (section != NULL)
            roff_macro("SS", section);
        man_option(&options[i]);
    }
    printf(".SH SEE ALSO\n.BR pgdisque (1)\n");
}

/* ---- the run ---- */

static int man_line(const struct tool *tool, int argc, char **argv) {
    struct man_line_words w = { 0 };
    bool good = line_options_read(tool, argc, argv, &w, &w.names);

    if (good &&
        (w.names.count != 1 || strlen(w.names.items[0]) != 1 || strchr("15", w.names.items[0][0]) == NULL))
        good = line_refuse(tool->name, "exactly one section must be named: 1 or 5", "");
    if (good) {
        (w.names.items[0][0] == '1' ? man_of_program : man_of_configuration)();
        good = fflush(stdout) == 0 || line_refuse(tool->name, "cannot write the output", "");
    }
    line_list_free(&w.names);
    return good ? 0 : tool->error;
}

const struct tool tool_man = {
    .name = "man",
    .arguments = "1|5",
    .summary = "Prints the manual page pgdisque(1) or pgdisque.conf(5).",
    .text = "The page is for man(1), and `make install` puts it to its place.",
    .example = "pgdisque man 5 | man -l -",
    .error = 1,
    TOOL_STATUSES({ 0, "the page is printed" }, { 1, "an argument is wrong" }),
    .run = man_line,
};
