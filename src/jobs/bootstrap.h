#ifndef BOOTSTRAP_H
#define BOOTSTRAP_H

#include <stdbool.h>
#include "batch/op.h"

/*
 * Reads the state that the server needs before it can serve: the secret, its own number, the other servers, queues,
 * running leases and counters. All reads are in one transaction, so that they show one state. Clients get -LOADING
 * until then.
 *
 * After a lost connection the leases and counters are read again. A job that was leased for a client but never
 * delivered is put back. The counters are then correct, whatever the lost transactions did.
 */

/* For --check: reads only queues and counters, and does not change the rows of servers. Call it before bootstrap_start(). */
void bootstrap_only_read(void);
/* The write connection is ready: loads everything, or the parts that may have changed. Does nothing while a load
 * runs. */
void bootstrap_start(void);
/* Reads leases and counters again although no connection was lost: the clock was set. */
void bootstrap_again(void);
/* Sends failed loads again. Called about once a second. */
void bootstrap_retry(void);
/* The rows of servers have changed: reads them. */
void bootstrap_nodes(void);
/* The row of this server was deleted: inserts it again. */
void bootstrap_register(void);
/* While this is true, commands without CMD_LOADING are answered with -LOADING. */
bool bootstrap_is_under_way(void);
/* on_loaded is called once, after the first complete load. on_reloaded is called after each reload that follows a
 * lost connection. */
void bootstrap_hooks(void (*on_loaded)(void), void (*on_reloaded)(void));

#endif
