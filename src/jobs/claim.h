#ifndef CLAIM_H
#define CLAIM_H

#include "batch/op.h"
#include "net/client.h"
#include "queue/waiters.h"

/*
 * Claims. Before a transaction is built, claim_plan() selects the gets that can be served. It makes one claim by
 * key and one scan per queue for all of them. The rows are given to the gets in the order in which the gets were
 * planned.
 */

/* Maximum of queues with claims in one transaction. All claims of a get are in one transaction, and their results
 * are in memory at the same time. */
#define CLAIM_MOST 100

/* For batch_init(): plans for waiting gets of signalled queues, then for new gets. */
void claim_plan(void);

/* Gets were left for the next turn, so the loop must not wait for events. */
bool claims_pending(void);
/* Has q more ready jobs than there are planned claims? */
bool claim_may_find(struct queue *q);
/* Has the result of this transaction room for another job of q? A larger job is the only one of its transaction. */
bool claim_has_room(const struct queue *q);
/* Adds the expected bytes of a job of q to the plan. */
void claim_count_job(const struct queue *q);
/* Call before a scan is sent. */
void claim_note_scan(struct queue *q, struct queue_scan *w);

/* Puts back a job with a lease until that time, as if it had not been delivered. If that fails, the lease ends by
 * itself. last: this delivery was its last attempt. */
void claim_release(struct job_key key, int64_t until, bool last);
/* For a closed client: puts back the jobs that c has certainly not received. */
void claim_release_unsent(struct client *c);

#endif
