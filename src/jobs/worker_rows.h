#ifndef WORKER_ROWS_H
#define WORKER_ROWS_H

#include "batch/op.h"

/* Writes the names of workers into the rows of what they have had for a while (worker.h). */

/* Ten times a second. */
void worker_rows_write(void);

#endif
