/* The command line: configuration file, options, action; the text of --help. */
#include "config/config.h"

#include <string.h>
#include "base/log.h"
#include "config/config_impl.h"

#define WHERE "command line"
#define ECHO_MAX 64

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
        snprintf(err, err_size, WHERE ": expected --option, not %s", log_escape(slice_str(arg), ECHO_MAX));
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
    fputs("Usage: pgdisque [conf-file] [--option value]...\n"
          "       pgdisque [conf-file] [--option value]... --check\n"
          "       pgdisque doctor [--lines] [conf-file] [--option value]...\n"
          "       pgdisque health [conf-file] [--option value]...\n"
          "       pgdisque import redis://address [option]... [name]...\n"
          "       pgdisque export redis://address [option]... [name]...\n"
          "       pgdisque --help | --version\n"
          "\n"
          "--check tests the configuration and the database without serving clients. A server\n"
          "may run at the same time. doctor lists problems of the database and their remedies;\n"
          "its exit status is 1 for warnings, 2 for errors. health sends a job through the\n"
          "running server; its exit status is 1 if that fails. import moves tasks from a Redis,\n"
          "export moves jobs to a Redis; `pgdisque import --help` and `pgdisque export --help`\n"
          "describe them. The list shows the options with their defaults. Options of the command\n"
          "line override those of the file.\n",
          out);
    for (size_t i = 0; i < LENGTH(help_rows); i++) {
        if (help_rows[i].section)
            fprintf(out, "\n%s\n", help_rows[i].section);
        else
            help_option(out, config_find(slice_str(help_rows[i].option)));
    }
}
