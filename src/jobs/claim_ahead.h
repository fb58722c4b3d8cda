#ifndef CLAIM_AHEAD_H
#define CLAIM_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include "queue/queue_store.h"
#include "queue/waiters.h"

/*
 * Jobs ahead: leased jobs that the server keeps in memory for the next GETJOBs, which need no transaction. A client then
 * waits for one transaction a job, that of ACKJOB. A job becomes a job ahead in two ways:
 *
 * - It is claimed ahead. When many clients take single jobs of a backlog, the claims also lease the jobs that the next
 *   GETJOBs will take.
 * - It is added ahead (add_ahead.h). While clients take all jobs of a queue, a new job is inserted with a lease, and needs no
 *   claim. If many jobs are ahead, ADDJOB waits until clients take some. It waits at most CLAIM_AHEAD_HOLD_US.
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
#define CLAIM_AHEAD_HOLD_US (5 * US_PER_MS)

/* A transaction claims this number of jobs of q for GETJOBs that name no other queue. singly: the part for GETJOBs of one
 * job each. */
void claim_ahead_note(struct queue *q, size_t jobs, size_t singly);
/* Called when a transaction is planned, after claim_ahead_note(). Calls plan() for the rows to claim ahead. plan()
 * returns the rows that fit in the transaction. Call claim_ahead_ended() when the claim of these rows ends. */
void claim_ahead_plan(size_t (*plan)(struct queue *q, size_t rows));
/* True if this number of new jobs with this rank is added ahead. Then call claim_ahead_ended() when their insert ends. */
bool claim_ahead_admit(struct queue *q, int16_t rank, size_t count);
/* True if a request that adds count jobs, which are accepted, must wait for room among the jobs ahead. w is ready when there is
 * room, or after CLAIM_AHEAD_HOLD_US. */
bool claim_ahead_hold(struct queue *q, size_t count, struct row_waiter *w);
/* w waits behind the requests for which claim_ahead_hold() was true. The queue must have such a request. */
void claim_ahead_hold_behind(struct queue *q, struct row_waiter *w);
/* A claim or an insert of this number of rows has ended. It may have brought fewer jobs. */
void claim_ahead_ended(struct queue *q, size_t rows);
/* A job that is never ahead was added to q: for a time, no jobs are claimed or added ahead. */
void claim_ahead_note_once(struct queue *q);
/* Keeps a copy of a leased job, or puts the job back. */
void claim_ahead_keep(const struct job *job);
/* Ends requests that wait for q with jobs ahead. If another waiting request can take no job ahead, and there are no other
 * jobs, the jobs ahead are put back for it. */
void claim_ahead_serve(struct queue *q);
/* Ends taker with jobs ahead of its queue. False if there is none, if taker is not a GETJOB of one queue, or if it
 * should claim jobs of a backlog. */
bool claim_ahead_give(struct taker *taker);
/* Ends taker, whose queues have no other ready jobs, with jobs ahead of a queue that it names. False if there is none, or
 * taker is not a GETJOB. Queues for which another request waits are left out. */
bool claim_ahead_give_rest(struct taker *taker);
/* claim_ahead_give(), or claim_ahead_give_rest() if the queues have no other ready jobs. For a request that arrives,
 * before taker_begin(). */
bool claim_ahead_give_new(struct taker *taker);
/* Puts back the jobs ahead of q, and claims and adds none for a time. Called before a command about all queued jobs of q.
 * False: the command must wait. w is ready when these jobs are back, and those of claims and inserts that are under way. */
bool claim_ahead_return(struct queue *q, struct row_waiter *w) MUST_CHECK;
/* A job of q became ready. If it comes before a job ahead, the jobs ahead are put back. */
void claim_ahead_note_ready(struct queue *q, struct job_key key);
/* Puts back all jobs ahead, and claims no more. Called when the server stops. */
void claim_ahead_stop(void);

#endif
