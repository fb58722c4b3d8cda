#ifndef EXPORT_LINE_H
#define EXPORT_LINE_H

#include "base/util.h"

/*
 * Jobs back to the lists of a Redis, on the command line:
 *
 *     pgdisque export redis://host:port/db [--from host:port] [option]... --queue name|pattern ...
 */
bool export_line_asked(int argc, char **argv);
/* The exit status: 0 all is moved, 1 some jobs stay, and it says which, 2 it had to stop. */
int export_line(int argc, char **argv);

#endif
