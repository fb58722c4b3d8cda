#ifndef SUBCOMMAND_H
#define SUBCOMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include "net/request.h"

/*
 * Commands that have subcommands, such as CLIENT: a row for each. A name may have several rows with different
 * numbers of arguments. The synopsis in commands.def lists the subcommands; HELP replies it.
 */
struct subcommand {
    const char *name; /* upper case; compared case-insensitively */
    int min_args;     /* arguments after the subcommand's name */
    int max_args;     /* -1: any number */
    void (*handler)(struct req *r);
};

/* Runs HELP or the row that fits argv[1] and the number of arguments. If no row fits, replies an error and
 * ends r. */
void subcommand_run(struct req *r, const struct subcommand *table, size_t count);
/* Runs the row that fits. False if no row fits: the function then has done nothing. */
bool subcommand_find(struct req *r, const struct subcommand *table, size_t count) MUST_CHECK;

#endif
