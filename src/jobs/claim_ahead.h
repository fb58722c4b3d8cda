#ifndef CLAIM_AHEAD_H
#define CLAIM_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include "queue/queue_store.h"
#include "queue/waiters.h"

/*
 * Jobs ahead: jobs that the server claims before a client asks for them. When many clients take single jobs of a
 * backlog, the claims also lease the jobs that the next GETJOBs will take. The server keeps these jobs in memory, and
 * replies to those GETJOBs without a transaction. Such a client then waits for one transaction a job, that of ACKJOB.
 *
 * The row of a job ahead has a lease, so commands with its ID find an active job. The counters of the queue count it as
 * queued (lease_add_ahead()). Its lease begins when a client gets it. If no GETJOB takes the job within
 * CLAIM_AHEAD_KEEP_US, it is put back as if it had never been delivered (undelivered.h).
 *
 * These jobs are never ahead: jobs with RETRY 0 and jobs at their last attempt, which a crash of the server would lose;
 * jobs of queues with limits; all jobs while the server has peers, which would not know of them. After a crash of the
 * server, its jobs ahead return to their queues when their leases end.
 */
#define CLAIM_AHEAD_KEEP_US (100 * US_PER_MS)

/* A transaction claims jobs of q for this number of requests that take one job each. */
void claim_ahead_note(struct queue *q, size_t requests);
/* Called when a transaction is planned, after claim_ahead_note(). Calls plan() for the rows to claim ahead. plan()
 * returns the rows that fit in the transaction. Call claim_ahead_ended() when the claim of these rows ends. */
void claim_ahead_plan(size_t (*plan)(struct queue *q, size_t rows));
/* A claim of this number of rows has ended. It may have brought fewer jobs. */
void claim_ahead_ended(struct queue *q, size_t rows);
/* Keeps a copy of a claimed job, or puts the job back. */
void claim_ahead_keep(const struct job *job);
/* Ends taker with a job ahead of its queue. False if there is none, or taker is not a GETJOB of one job of one queue. */
bool claim_ahead_give(struct taker *taker);
/* Ends taker, whose queues have no other ready jobs, with one job ahead of a queue that it names. False if there is none, or
 * taker is not a GETJOB. Queues for which another request waits are left out. */
bool claim_ahead_give_rest(struct taker *taker);
/* claim_ahead_give(), or claim_ahead_give_rest() if the queues have no other ready jobs. For a request that arrives,
 * before taker_begin(). */
bool claim_ahead_give_new(struct taker *taker);
/* Puts back the jobs ahead of q, and claims none for a time. Called before a command about all queued jobs of q. False: it
 * must wait. w is ready when all these jobs are back, and those of a claim that is under way. */
bool claim_ahead_return(struct queue *q, struct row_waiter *w) MUST_CHECK;
/* A job of q became ready. If it comes before a job ahead, the jobs ahead are put back. */
void claim_ahead_note_ready(struct queue *q, struct job_key key);
/* Puts back all jobs ahead, and claims no more. Called when the server stops. */
void claim_ahead_stop(void);

#endif
