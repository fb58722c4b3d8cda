#ifndef TAKE_H
#define TAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "queue/waiters.h"

/* All operations that take jobs from queues share these steps: claims, pops and moves, in client transactions and
 * outside of them. */

/* Reads rank, id, ready_at, expires_at, retry, nacks, additional_deliveries and body, from column col on. The job points into the
 * result. */
void take_read(struct job *job, const PGresult *rows, int row, int col, struct queue *q);
/* Reads the same, and the column last, of a statement that leased the job at since_us (clock_db()). */
void take_read_leased(struct job *job, const PGresult *rows, int row, int col, struct queue *q,
                      int64_t since_us);
/* Sorts jobs in the order of delivery, or backwards. */
void take_sort(struct job *jobs, size_t count, bool backwards);
/* Counts a statement that took so many jobs. */
void take_count(size_t rows);

#endif
