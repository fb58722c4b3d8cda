#ifndef DOCTOR_LINE_H
#define DOCTOR_LINE_H

#include "base/util.h"

/*
 * The doctor on the command line, whether a server runs or not:
 *
 *     pgdisque doctor [--lines] [conf-file] [--option value]...
 *
 * Prints what it finds. A private Postgres that does not run is started for it, and ended again.
 */
bool doctor_line_asked(int argc, char **argv);
/* The exit status: 0 all is well, 1 warnings, 2 errors, or nothing could be asked. */
int doctor_line(int argc, char **argv);

#endif
