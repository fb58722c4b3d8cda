#ifndef CLAIM_IMPL_H
#define CLAIM_IMPL_H

#include "jobs/claim.h"

/* Shared by claim.c and claim_limited.c, the claims of queues with limits. */

/* An entry in the reply of a get, filled by the claim. */
struct slot {
    struct get *get;
    size_t place;
};

struct claim {
    struct task task;
    struct queue *q;
    struct slot *slots;
    size_t slot_count;
    size_t slot_cap;
    struct job_key *keys; /* claims by key: one per slot; in limited queues up to that */
    size_t key_count;
    struct job *rows;
    size_t row_count;
    int64_t sent_us; /* clock_db(): begin of the leases */
    struct queue_scan walk;
    uint64_t rooms; /* value of queue.rooms when the claim was sent */
    struct list in_plan;
};

/* Stores the scan position of the queue, and sets the first parameters, which are those of claim_walk.sql. */
void claim_begin_walk(struct params *p, struct claim *c);
/* Reads a row whose columns begin with rank, at col. */
void claim_read_row(struct claim *c, const PGresult *res, int row, int col);
/* Gives the rows in key order to the slots in planned order. A job whose client has gone is put back. */
void claim_deal(struct claim *c);
/* The scan ended at the row last. NULL: where it began, or at the end of the queue. */
void claim_advance(struct claim *c, const struct job *last, bool to_the_end);
/* op.again and op.fail: restore the queue's state from before the plan. */
bool claim_again(struct task *t, bool unknown);
void claim_fail(struct task *t, const struct op_error *err);
void claim_free(struct claim *c);

/* claim_limited.c: sends the claim of a limited queue. */
void claim_limited(struct claim *c);

#endif
