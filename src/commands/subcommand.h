#ifndef SUBCOMMAND_H
#define SUBCOMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include "net/req.h"

/*
 * Commands that are families, such as CLIENT: one row per member. A name may
 * have several rows that differ in their counts. The synopsis in commands.def
 * lists the members; HELP replies it.
 */
struct subcommand {
    const char *name; /* upper case; compared without regard to case */
    int min_args;     /* arguments after the member's name */
    int max_args;     /* -1: any number */
    void (*handler)(struct req *r);
};

/* Runs the row that fits argv[1] and the number of arguments, or HELP. Replies
 * an error and ends r when there is none. */
void subcommand_run(struct req *r, const struct subcommand *table, size_t count);
/* Runs the row that fits. False when there is none: nothing has happened then. */
bool subcommand_find(struct req *r, const struct subcommand *table, size_t count) MUST_CHECK;

#endif
