/* layer 3 */
#ifndef CLAIM_H
#define CLAIM_H

#include "client.h"
#include "op.h"
#include "waiters.h"

/*
 * Claiming: before a flight is built, claim_plan() looks which gets can be
 * served, and makes one claim by key and one walk per queue for all of them.
 * The rows that come are dealt to the gets in the order of their planning.
 */
extern struct op op_claim_keys;
extern struct op op_claim_walk;
extern struct op op_release;

/* Serves waiting gets of signalled queues, then fresh ones; for batch_init(). */
void claim_plan(void);

/* Puts a delivered or claimed job, leased until then, back as if it had never
 * been given out. Should that fail, its lease ends by itself. */
void claim_release(struct job_key key, int64_t until);
/* Puts back what c was given and has certainly not received: on its close. */
void claim_release_unsent(struct client *c);

#endif
