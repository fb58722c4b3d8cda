#ifndef HEALTH_LINE_H
#define HEALTH_LINE_H

#include "base/util.h"

/*
 * HEALTH on the command line, for health checks of containers:
 *
 *     pgdisque health [conf-file] [--option value]...
 *
 * The arguments are those of the server. They name the address at which the server listens.
 */
/* Do the arguments ask for this subcommand? */
bool health_line_asked(int argc, char **argv);
/* Runs the subcommand. The exit status: 0 a job went through the server; 1 it did not, or the server does not
 * answer. */
int health_line(int argc, char **argv);

#endif
