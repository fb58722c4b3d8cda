#ifndef WORKER_NAMES_H
#define WORKER_NAMES_H

/* Writes the names of workers (worker.h) into the rows of jobs that they have had for a while. */

/* Call ten times a second. */
void worker_rows_write(void);

#endif
