#ifndef IMPORT_LINE_H
#define IMPORT_LINE_H

#include "base/util.h"

/*
 * Tasks out of a Redis, on the command line:
 *
 *     pgdisque import redis://host:port/db [--to host:port] [--kind name] [option]... [name]...
 */
bool import_line_asked(int argc, char **argv);
/* The exit status: 0 all is moved, 1 some tasks are refused, 2 it had to stop, 3 a name has no tasks. */
int import_line(int argc, char **argv);

#endif
