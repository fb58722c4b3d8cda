#ifndef WORKER_H
#define WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"
#include "base/util.h"
#include "net/client.h"

/*
 * The workers that take jobs. The name of a worker is the name of its client (CLIENT SETNAME), or else id@addr.
 * It is written to the rows of its jobs, for peers and SQL. Most jobs are done before anything reads their row.
 * A name is written after its worker has had a job for one or two seconds, or has disconnected. Until then the
 * lease has it (lease.h).
 */
#define WORKER_NAME_MAX 128

struct worker;

/* A name of workers: of all clients that have it, and of the leases whose clients have gone. */
struct worker_label;

/* The current worker of c. c owns it. */
struct worker *worker_of(struct client *c);
/* Called when c has disconnected: the names of its leases are to be written at once. */
void worker_leave(struct client *c);
const char *worker_name(const struct worker *w);
/* Each lease of the worker has a reference. */
struct worker *worker_ref(struct worker *w);
void worker_unref(struct worker *w);

/* The label of its name. The worker has a reference. */
struct worker_label *worker_label(const struct worker *w);
/* The label of a name, with a reference of the caller. */
struct worker_label *worker_label_of(struct slice name);
/* NULL: no client and no lease has the name. */
struct worker_label *worker_label_find(struct slice name);
struct worker_label *worker_label_ref(struct worker_label *label);
void worker_label_unref(struct worker_label *label);
const char *worker_label_name(const struct worker_label *label);
/* The leases of all workers with the name: lease.c links them, and each has a reference. */
struct list *worker_label_leases(struct worker_label *label);

bool worker_is_gone(const struct worker *w);
/* True if there may be leases of disconnected workers, until workers_were_seen(). */
bool workers_have_gone(void);
void workers_were_seen(void);

#endif
