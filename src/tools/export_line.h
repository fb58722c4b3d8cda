#ifndef EXPORT_LINE_H
#define EXPORT_LINE_H

#include "base/util.h"

/*
 * The subcommand that moves jobs to the lists of a Redis:
 *
 *     pgdisque export redis://host:port/db [--from host:port] [option]... --queue name|pattern ...
 */
/* Do the arguments ask for this subcommand? */
bool export_line_asked(int argc, char **argv);
/* Runs the subcommand. The exit status: 0 all jobs are moved, 1 some jobs stay and are listed, 2 an error stopped
 * it. */
int export_line(int argc, char **argv);

#endif
