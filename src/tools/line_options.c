/* The arguments of a subcommand: options and names. */
#include "tools/line_options.h"

#include <stdio.h>
#include <string.h>

#include "version.h"

bool line_refuse(const char *subcommand, const char *why, const char *what) {
    fprintf(stderr, "pgdisque %s: %s%s%s\n", subcommand, why, *what != '\0' ? ": " : "", what);
    return false;
}

static bool line_options_take_number(const char *subcommand, const struct line_option *o, const char *text) {
    char why[120];

    if (parse_int_strict(slice_str(text), o->number) && *o->number >= o->min && *o->number <= o->max)
        return true;
    snprintf(why, sizeof why, "%s must be a number from %lld to %lld", o->name, (long long)o->min,
             (long long)o->max);
    return line_refuse(subcommand, why, text);
}

static const struct line_option *option_of(const struct line_option *options, size_t count,
                                           const char *word) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(options[i].name, word) == 0)
            return &options[i];
    }
    return NULL;
}

/* Reads the option at *at. *at moves to the option's value, if it takes one. */
static bool take_option(int argc, char **argv, int *at, const struct line_option *o) {
    if (o->flag != NULL) {
        *o->flag = true;
        return true;
    }
    if (*at + 1 >= argc)
        return line_refuse(argv[1], "a value is missing", argv[*at]);
    *at += 1;
    if (o->number != NULL)
        return line_options_take_number(argv[1], o, argv[*at]);
    if (o->list != NULL)
        o->list[(*o->listed)++] = argv[*at];
    else
        *o->text = argv[*at];
    return true;
}

bool line_options_read(int argc, char **argv, const struct line_option *options, size_t count, char **names,
                       size_t *named) {
    for (int i = 2; i < argc; i++) {
        const struct line_option *o = option_of(options, count, argv[i]);

        if (o == NULL && strncmp(argv[i], "--", 2) == 0)
            return line_refuse(argv[1], "there is no such option; --help lists the options", argv[i]);
        if (o == NULL)
            names[(*named)++] = argv[i];
        else if (!take_option(argc, argv, &i, o))
            return false;
    }
    return true;
}

bool line_print(enum config_action action) {
    if (action == CONFIG_HELP)
        config_help(stdout);
    else if (action == CONFIG_VERSION)
        printf("pgdisque %s (%s%s)\n", PGDISQUE_VERSION, PGDISQUE_GIT_SHA1,
               PGDISQUE_GIT_DIRTY ? ", modified" : "");
    else
        return false;
    return true;
}

int line_read_config(const char *subcommand, int argc, char **argv, int refused) {
    enum config_action action;
    char err[512];

    if (!config_parse_args(argc, argv, &action, err, sizeof err)) {
        fprintf(stderr, "pgdisque: %s\n", err);
        return refused;
    }
    if (action == CONFIG_CHECK) {
        line_refuse(subcommand, "this option checks the configuration of a server", "--check");
        return refused;
    }
    return line_print(action) ? 0 : LINE_RUNS;
}

bool line_connect(const char *subcommand, const char *address, int default_port, const struct line_tls *tls,
                  struct redis_pipe *p) {
    struct redis_address a;
    char err[500];
    bool good = redis_address_parse(address, default_port, &a, err, sizeof err);

    if (good) {
        a.tls = a.tls || tls->always;
        good = redis_pipe_open(p, &a, &tls->how, err, sizeof err);
    }
    if (!good)
        line_refuse(subcommand, err, "");
    redis_address_free(&a);
    return good;
}
