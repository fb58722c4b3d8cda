#ifndef CLAIM_H
#define CLAIM_H

#include "batch/op.h"
#include "net/client.h"
#include "queue/waiters.h"

/*
 * Claiming: before a flight is built, claim_plan() looks which gets can be
 * served, and makes one claim by key and one walk per queue for all of them.
 * The rows that come are dealt to the gets in the order of their planning.
 */

/* All claims of a get travel in one flight, whose results live together: so what is planned for a flight, of so
 * many queues, is what fits. */
#define CLAIM_MOST 100

/* Serves waiting gets of signalled queues, then fresh ones; for batch_init(). */
void claim_plan(void);

/* Gets were left for the next turn: it must not wait for events. */
bool claims_pending(void);
/* Is there more in q than claims are planned for? */
bool claim_may_find(struct queue *q);
/* Is there room for another job of q in the result of the flight in the making? One that is larger has it alone. */
bool claim_has_room(const struct queue *q);
/* So many bytes of a job are planned. */
void claim_count_job(const struct queue *q);
/* The walk is about to be sent, */
void claim_note_walk(struct queue *q, struct queue_walk *w);
/* and has ended at this key, NULL being where it began, or at the end of the queue. */
void claim_walked(struct queue *q, const struct queue_walk *w, const struct job_key *last, bool to_the_end);

/* Puts a claimed job, leased until then, back as if it had never been given out. Should that fail, its lease ends
 * by itself; last: and that was its last attempt. */
void claim_release(struct job_key key, int64_t until, bool last);
/* Puts back what c was given and has certainly not received: on its close. */
void claim_release_unsent(struct client *c);

#endif
