#ifndef CONSULT_H
#define CONSULT_H

#include "fixture.h"

/* The reports of the doctor: to a client, and on the command line. */

/* Does DOCTOR LINES have a line that begins so, "severity check ", and contains the text? */
bool finds(redisContext *c, const char *begin, const char *text);
/* How many warnings and errors it has. */
int complaints(redisContext *c);
/* For tests that fail. */
void show_findings(redisContext *c);
/* Runs `pgdisque doctor` with these arguments, up to NULL. Returns the exit status. *out is the output, until the next
 * call. */
int doctor_line_run(const char **out, ...) __attribute__((sentinel));
/* The same of pgdisque health. */
int health_line_run(const char **out, ...) __attribute__((sentinel));

#endif
