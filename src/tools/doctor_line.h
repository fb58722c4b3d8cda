#ifndef DOCTOR_LINE_H
#define DOCTOR_LINE_H

#include "base/util.h"

/*
 * DOCTOR on the command line. It works whether a server runs or not:
 *
 *     pgdisque doctor [--lines] [conf-file] [--option value]...
 *
 * Prints the findings. If the embedded Postgres does not run, the command starts it and ends it again.
 */
/* Do the arguments ask for this subcommand? */
bool doctor_line_asked(int argc, char **argv);
/* Runs the subcommand. The exit status: 0 without findings, 1 with warnings, 2 with errors or if the check failed. */
int doctor_line(int argc, char **argv);

#endif
