#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "common.h"
#include "run.h"

/* The counters as they are now. */
struct mark report_mark(void);

/* Prints a line to stderr about the events since the last call. */
void report_progress(void);

/* Prints the result in the form the options ask for, and a clear line on
 * stderr when something is wrong. complete: the run drained the queue, so that
 * gaps in a drain are losses. Returns the exit status. */
int report_result(bool complete) MUST_CHECK;

/* The names of the fields of a CSV line. */
void report_csv_header(void);

#endif
