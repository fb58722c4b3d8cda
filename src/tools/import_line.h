#ifndef IMPORT_LINE_H
#define IMPORT_LINE_H

#include "base/util.h"

/*
 * The subcommand that moves tasks from a Redis to a pgdisque:
 *
 *     pgdisque import redis://host:port/db [--to host:port] [--kind name] [option]... [name]...
 */
/* Do the arguments ask for this subcommand? */
bool import_line_asked(int argc, char **argv);
/* Runs the subcommand. The exit status: 0 all tasks are moved, 1 some tasks are refused, 2 an error stopped it, 3 a
 * name has no tasks. */
int import_line(int argc, char **argv);

#endif
