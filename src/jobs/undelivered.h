#ifndef UNDELIVERED_H
#define UNDELIVERED_H

#include <libpq-fe.h>
#include "batch/op.h"
#include "net/client.h"
#include "queue/waiters.h"

/*
 * Jobs that list commands have taken. A copy is kept until the client has certainly received the job. If the client
 * disconnects before, the job is put back with its old key. An element that was handed over without a row, to a
 * queue without a row, has no old key.
 */

/* Reads a row of pop_first.sql, or of a statement with the same first columns. The job points into the
 * result. */
struct job undelivered_read(const PGresult *rows, int row, struct queue *q);
/* A job has left its queue by a committed pop or move: updates counters, peers and events, and starts the next job
 * in its group. */
void undelivered_count_gone(const struct job *job);
/* The next reply has this job. */
void undelivered_note_unsent(struct client *c, const struct job *job);
/* Forgets all deliveries to c, of GETJOB and of lists: c has received them, or they were put back. */
void deliveries_forget(struct client *c);
/* For a closed client: puts back the list elements that c has certainly not received. For GETJOB,
 * claim_release_unsent() does that. */
void undelivered_put_back_unsent(struct client *c);
/* Puts back a job whose client had gone before the reply was made. */
void undelivered_put_back(const struct job *job);

#endif
