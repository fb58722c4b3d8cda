#ifndef UNDELIVERED_H
#define UNDELIVERED_H

#include <stdbool.h>
#include <stdint.h>
#include "net/client.h"
#include "queue/delivery.h"

/*
 * Jobs that clients did not receive. The lease of a job that GETJOB took is ended, as if the job had not been delivered.
 * A list command removes the job. A copy is kept until the client has certainly received it. Otherwise the copy is put
 * back with its old key. An element that was handed over without a row has the key that its insert would have given it.
 */

/* A job has left its queue by a committed pop or move. Updates counters, peers and events, and starts the next job
 * in its group. */
void undelivered_count_gone(const struct job *job);
/* The reply of r has this job. */
void undelivered_note_unsent(struct req *r, const struct job *job);
/* All output of c is written. Forgets the deliveries that were in it, of GETJOB and of lists. */
void undelivered_written(struct client *c);
/* Forgets all deliveries to c. */
void undelivered_forget(struct client *c);
/* For a closed client: puts back the jobs that c has certainly not received. */
void undelivered_return_unsent(struct client *c);
/* Puts back a job whose client had gone before the reply was made. removed: its row was deleted, not leased. */
void undelivered_return(const struct job *job, bool removed);
/* Ends the lease of a job in whose row it lasts until that time. If that fails, the lease ends by itself. last: this
 * delivery was its last attempt. ended: called with arg when the statement has ended; may be NULL. */
void undelivered_release(struct job_key key, int64_t until, bool last, void (*ended)(void *arg), void *arg);

#endif
