#ifndef CLAIM_AHEAD_H
#define CLAIM_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include "queue/waiters.h"

/*
 * Jobs ahead: jobs that the server claims before a client asks for them. When many clients take single jobs of a
 * backlog, the claims also lease the jobs that the next GETJOBs will take. The server keeps these jobs in memory, and
 * replies to those GETJOBs without a transaction. Such a client then waits for one transaction a job, that of ACKJOB.
 *
 * For all other commands a job ahead is active: its row has a lease. If no GETJOB takes the job within
 * CLAIM_AHEAD_KEEP_US, it is put back as if it had never been delivered (undelivered.h). Its lease begins when a client
 * gets it. A job with RETRY 0 is never ahead, because a crash of the server would lose it.
 *
 * After a crash of the server, its jobs ahead return to their queues when their leases end.
 */
#define CLAIM_AHEAD_KEEP_US (100 * US_PER_MS)

/* A transaction claims jobs of q for this number of requests that take one job each. */
void claim_ahead_note(struct queue *q, size_t requests);
/* Called once for each transaction, after claim_ahead_note(). Calls plan() for the rows to claim ahead. plan() returns
 * the rows that fit in the transaction. Call claim_ahead_ended() when the claim of these rows ends. */
void claim_ahead_plan(size_t (*plan)(struct queue *q, size_t rows));
/* A claim of this number of rows has ended. It may have brought fewer jobs. */
void claim_ahead_ended(struct queue *q, size_t rows);
/* Keeps a copy of a claimed job, or puts the job back. */
void claim_ahead_keep(const struct job *job);
/* Ends g with a job ahead of its queue. False if there is none, or g takes no such job. */
bool claim_ahead_give(struct get *g);
/* The same for a request that arrives: it does not pass a waiting request. */
bool claim_ahead_give_new(struct get *g);
/* Puts back all jobs ahead, and claims no more. Called when the server stops. */
void claim_ahead_stop(void);

#endif
