#ifndef TAKE_ROWS_H
#define TAKE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "queue/delivery.h"

/* Rows of jobs that a statement has taken. The jobs point into the result. */

/* Reads rank, id, ready_at, expires_at, retry, nacks, additional_deliveries, body and delay_mark, from column col on,
 * of a statement that leased the job at since_us (clock_db()). */
void take_read_leased(struct job *job, const PGresult *rows, int row, int col, struct queue *q,
                      int64_t since_us);

/* Reads a row of pop_first.sql, or of a statement with the same first columns. */
struct job take_read_removed(const PGresult *rows, int row, struct queue *q);

/* A moved job: as it was, and its times in the new list. */
struct moved_job {
    int32_t ordinal; /* the slot, from 1 on */
    struct job job;
    int64_t to_wake_at;
    int64_t to_expires_at;
};

/* Reads a row of move_first.sql or move_last.sql. */
struct moved_job take_read_moved(const PGresult *rows, int row, struct queue *q);
/* Reads a row of pop_limited.sql. */
struct moved_job take_read_moved_limited(const PGresult *rows, int row, struct queue *q);

/* Sorts jobs in the order of delivery, or backwards. */
void take_sort(struct job *jobs, size_t count, bool backwards);
/* Counts a statement that took so many jobs. */
void take_count(size_t rows);

#endif
