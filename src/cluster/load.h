#ifndef LOAD_H
#define LOAD_H

#include <stdbool.h>
#include "batch/op.h"

/*
 * What the server has to learn from the database before it can serve: the
 * secret, its own number, the other nodes, queues, running leases, counts. All in
 * one transaction, so that it is one state. Until then clients get -LOADING.
 *
 * After a connection was lost the leases and counts are read again: what was
 * leased for a client that never got it is put back, and counts are right again
 * whatever became of the statements that were under way.
 */

/* For --check: reads queues and counts only, and leaves the servers' rows alone. Comes before load_start(). */
void load_only_look(void);
/* A hot lane is ready: loads all, or what may have changed. Does nothing while
 * it is under way. */
void load_start(void);
/* The same when nothing was lost, but the clock was set. */
void load_again(void);
/* Asks again for what failed; about once a second. */
void load_retry(void);
/* The servers' rows have changed. */
void load_nodes(void);
/* This server's row is gone. */
void load_register(void);
/* Until all is loaded, commands without CMD_LOADING are answered with -LOADING. */
bool load_is_under_way(void);
/* on_loaded is called once, when all is loaded; on_reloaded after every lost connection, when what
 * may have changed is. */
void load_hooks(void (*on_loaded)(void), void (*on_reloaded)(void));

#endif
