#ifndef QUEUE_RESTORE_H
#define QUEUE_RESTORE_H

/*
 * A promoted standby may lack the last commits, and so rows of queues. Jobs refer to their queue by its id:
 * without the row, they could not be found after the next start.
 */

/* Inserts the rows that are missing. */
void queue_restore(void);

#endif
