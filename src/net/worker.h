#ifndef WORKER_H
#define WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include "net/client.h"

/*
 * Who takes jobs: a worker is what a client calls itself (CLIENT SETNAME), else id@addr. Its name is to
 * stand in the rows of its jobs, where all servers and SQL find it, but most jobs are done long
 * before anybody could ask. So it is written when a worker has had a job for a second or two, or has
 * gone; until then the lease knows it (lease.h).
 */
#define WORKER_NAME_MAX 128

struct worker;

/* The worker that c is now; c keeps it. */
struct worker *worker_of(struct client *c);
/* c has gone: what it holds is to be written at once. */
void worker_leave(struct client *c);
const char *worker_name(const struct worker *w);
/* For each lease that knows it. */
struct worker *worker_ref(struct worker *w);
void worker_unref(struct worker *w);

bool worker_is_gone(const struct worker *w);
/* May there be leases of workers that have gone? Until somebody has looked at all. */
bool workers_have_gone(void);
void workers_were_seen(void);

#endif
