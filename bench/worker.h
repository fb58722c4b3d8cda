#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H

#include "common.h"

struct conn;

/* The work of producers, consumers and idle waiters: the next command, and the meaning of a reply. Commands are only
 * put into c->out. The loop sends them. */

/* Prepares the commands of all queues. */
void worker_init(void);

/* Everything up to the last complete reply has been read from c->in, handled,
 * and followed by the next commands. */
void worker_input(struct conn *c);

/* Called by a target's read_get() for each job. The token is the name of the job in its ack. token and body point into
 * c->in. */
void worker_delivered(struct conn *c, struct slice token, struct slice body);

/* The connection is ready (all setup replies came) or was stalled: go on. */
void worker_resume(struct conn *c);

/* The connection is lost. The ledger gets its commands without replies and its held jobs. */
void worker_abandon(struct conn *c);

/* Lets waiting producers send as far as schedule, window and limits allow. Returns the next producer that has bytes to
 * send, or NULL. */
struct conn *worker_feed(void);

/* True when no producer will ever send again, apart from replies outstanding. */
bool worker_exhausted(void);

/* Nanoseconds until the schedule has the next job for a waiting producer. INT64_MAX if producers do not wait for the
 * schedule. */
int64_t worker_next_due(void);

#endif
