#ifndef DEAD_ROWS_H
#define DEAD_ROWS_H

#include <stdint.h>
#include "batch/op.h"

/*
 * Dead rows in the database. As long as some session keeps an old transaction
 * open none can be removed, and whatever passes over them, or makes more of
 * them, gets dearer by the minute. Work that can wait looks here first.
 */

/* Asks the database anew, for figures of a few seconds ago. */
void dead_rows_ask(void);
/* About how many there are; 0 as long as nothing is known. */
int64_t dead_rows_of_jobs(void);
int64_t dead_rows_of_counters(void);

#endif
