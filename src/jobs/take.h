#ifndef TAKE_H
#define TAKE_H

#include "batch/op.h"
#include "jobs/take_rows.h"
#include "queue/waiters.h"

/*
 * Takes: GETJOB leases jobs, list commands delete them or move them to another list. Before a transaction is built,
 * take_plan() selects the requests (struct taker) that can be served. For each queue it plans one take of each kind for
 * all of them, and one claim by redelivery keys. The rows are given to the requests in the order in which the
 * requests were planned. If a request has no client any more, its jobs are put back (undelivered.h).
 *
 * take_in_txn.h has the takes of client transactions.
 */

/* Maximum of queues with takes in one transaction. All takes of a request are in one transaction, and their results
 * are in memory at the same time. */
#define TAKES_MOST 100

/* For batch_init(): plans for waiting requests of signalled queues, then for new requests. */
void take_plan(void);
/* Requests were left for the next turn, so the loop must not wait for events. */
bool takes_pending(void);

/* Call before a scan is sent. */
void take_note_scan(struct queue *q, struct queue_scan *w);
/* The parameters of claim_keys.sql after the keys. */
void take_begin_keys(struct params *p);

/* The jobs that a list command takes, and their target. For such a request, taker.own is a struct pop. */
struct pop {
    enum list_end from;
    struct queue *to; /* the jobs are moved there; it has its row and its consume end. NULL: deleted */
    enum list_end to_end;
};

/* A new id for a moved job, at the end p->to_end. */
int64_t pop_new_id(const struct pop *p);
/* The move is committed. The job has this id in the new list. */
void take_arrived(const struct pop *p, int64_t id, const struct moved_job *m);

#endif
