#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H

#include "common.h"

struct conn;

/*
 * What producers, consumers and idle waiters do: which command comes next, and
 * what a reply means. Commands are only put into c->out; the loop sends them.
 */

/* Prepares the commands of all queues. */
void worker_init(void);

/* Everything up to the last complete reply has been read from c->in, handled,
 * and followed by the next commands. */
void worker_input(struct conn *c);

/* Called by a target's read_get() for each job. token, what the server wants
 * to see in the ack, and body point into c->in. */
void worker_delivered(struct conn *c, struct slice token, struct slice body);

/* The connection is ready (all setup replies came) or was stalled: go on. */
void worker_resume(struct conn *c);

/* The connection is lost: what was in transaction or held is entered as such. */
void worker_abandon(struct conn *c);

/* Lets waiting producers send as far as schedule, window and limits allow, and
 * returns the next one that now has bytes to send, or NULL. */
struct conn *worker_feed(void);

/* True when no producer will ever send again, apart from replies outstanding. */
bool worker_exhausted(void);

/* Nanoseconds until the schedule has the next job for a waiting producer;
 * INT64_MAX when that is not what producers wait for. */
int64_t worker_next_due(void);

#endif
