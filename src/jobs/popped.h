#ifndef POPPED_H
#define POPPED_H

#include <libpq-fe.h>
#include "batch/op.h"
#include "net/client.h"
#include "queue/waiters.h"

/*
 * Jobs that list commands have taken away. Until a client has certainly been sent one, a copy is kept, and put
 * back at its place, as it was, should the client go before. What was handed over without ever being a job, to a
 * queue without a row, has no place.
 */

#define POPPED_COLUMNS 16
/* A row of pop_first.sql and its like, whose columns are body and so on. The result lives as long as the job. */
struct job popped_read(const PGresult *rows, int row, struct queue *q);
/* A job has left its queue, by a pop or a move that is committed: counts it, tells of it, lets its group go on. */
void popped_count_gone(const struct job *job);
/* The reply with this job comes next. */
void popped_note_unsent(struct client *c, const struct job *job);
/* Forgets all deliveries to c, of GETJOB and of lists: it has got them, or they were put back. */
void deliveries_forget(struct client *c);
/* c was closed: puts back what it has certainly not received of lists; claim_release_unsent() does so for GETJOB. */
void popped_put_back_unsent(struct client *c);
/* Its client had gone before. */
void popped_put_back(const struct job *job);

#endif
