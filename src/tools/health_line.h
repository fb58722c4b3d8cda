#ifndef HEALTH_LINE_H
#define HEALTH_LINE_H

#include "base/util.h"

/*
 * HEALTH on the command line, for whoever watches a container:
 *
 *     pgdisque health [conf-file] [--option value]...
 *
 * Asks the server that these words, which are the server's own, make listen.
 */
bool health_line_asked(int argc, char **argv);
/* The exit status: 0 a job went through; 1 it did not, or nobody answers. */
int health_line(int argc, char **argv);

#endif
