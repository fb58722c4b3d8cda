#ifndef CONSULT_H
#define CONSULT_H

#include "fixture.h"

/* What the doctor says: to a client, and on the command line. */

/* Does DOCTOR LINES have a line that begins so, "severity check ", and contains the text? */
bool finds(redisContext *c, const char *begin, const char *text);
/* How many warnings and errors it has. */
int complaints(redisContext *c);
/* For tests that fail. */
void show_findings(redisContext *c);
/* pgdisque doctor with these words after it, up to NULL: its exit status. What it prints is in *out until the next
 * call. */
int doctor_line_run(const char **out, ...) __attribute__((sentinel));
/* The same of pgdisque health. */
int health_line_run(const char **out, ...) __attribute__((sentinel));

#endif
