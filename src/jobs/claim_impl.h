#ifndef CLAIM_IMPL_H
#define CLAIM_IMPL_H

#include "jobs/claim.h"

/* What the kinds of claims share: claim.c, and claim_limited.c for queues with limits. */

/* A place in the reply of a get that the claim is to fill. */
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
    struct job_key *keys; /* claimed by key: as many as slots, but for limited queues */
    size_t key_count;
    struct job *rows;
    size_t row_count;
    int64_t sent_us; /* clock_db(): when the leases begin */
    struct queue_walk walk;
    uint64_t rooms; /* when it was sent */
    struct list in_plan;
};

/* Notes what is known of the queue, and sets the first parameters: those of claim_walk.sql. */
void claim_begin_walk(struct params *p, struct claim *c);
/* Columns from rank on. */
void claim_read_row(struct claim *c, const PGresult *res, int row, int col);
/* The rows in key order to the slots in planned order. A job whose client has gone meanwhile is put back. */
void claim_deal(struct claim *c);
/* The walk ended at the last row, NULL being where it began, or to the end of the queue. */
void claim_advance(struct claim *c, const struct job *last, bool to_the_end);
/* op.again and op.fail: the queue is as if the claim had never been planned. */
bool claim_again(struct task *t, bool unknown);
void claim_fail(struct task *t, const struct op_error *err);
void claim_free(struct claim *c);

/* claim_limited.c: sends what was planned for a limited queue. */
void claim_limited(struct claim *c);

#endif
