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
/* All output of c is written. Forgets the deliveries that were in it, of GETJOB and of lists, or moves them to
 * c->to_pass_on. */
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

/*
 * The other end of a gateway's client is in this process. The client has written its replies, but the gateway may drop
 * them. So the deliveries of written replies go to a list, until the gateway passes the replies on. All zeros: no
 * deliveries. While a client has a gateway, its memory has the copies of the list, too.
 */
struct undelivered_list {
    struct delivery *deliveries;
    size_t count;
    size_t cap;
};

/* Moves the deliveries of a gateway to an empty list. c: the gateway's client, or NULL if it was freed. */
void undelivered_list_take(struct undelivered_list *to, struct undelivered_list *from, struct client *c);
/* No byte of the replies was passed on: puts the jobs back. */
void undelivered_list_return(struct undelivered_list *l);
/* A byte of the replies was passed on. */
void undelivered_list_forget(struct undelivered_list *l);
/* c can write nothing to its gateway any more. Puts back all jobs of c that were not passed on. */
void undelivered_gateway_closed(struct client *c);

#endif
