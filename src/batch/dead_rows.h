#ifndef DEAD_ROWS_H
#define DEAD_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/* Dead rows in the database. While a session keeps an old transaction open, vacuum cannot remove them. Each
 * scan over them, and each change that adds more, costs more with time. Work that can wait checks these
 * numbers first. */

/* A scan skips this number of rows in less than a tenth of a second. */
#define DEAD_ROWS_FEW 100000

/* Requests new numbers, which the database has collected up to a few seconds ago. */
void dead_rows_ask(void);
/* False until the first result. */
bool dead_rows_are_known(void);
/* The estimated number of dead rows; 0 until the first result. */
int64_t dead_rows_of_jobs(void);
int64_t dead_rows_of_counters(void);

#endif
