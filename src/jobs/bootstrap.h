#ifndef BOOTSTRAP_H
#define BOOTSTRAP_H

#include <stdbool.h>

/*
 * Reads the state that the server needs before it can serve: the secret, its own number, the other servers and the
 * queues. Clients get -LOADING until then. Then the running leases are read and the jobs are counted, beside the commands
 * of clients: lease_load.h, recount.h.
 *
 * After a lost connection the leases are read and the jobs are counted again. A job that was leased for a client but never
 * delivered is put back. The counters are then correct, whatever the lost transactions did.
 */

/* For --check: reads only queues and counters, and does not change the rows of servers. Call it before bootstrap_start(). */
void bootstrap_only_read(void);
/* The write connection is ready. The first call loads everything. A later call resets the scan positions, and reads the
 * leases and counts the jobs again. If that is under way, its result is dropped, and it begins again. */
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
/* The counters of queues. */
enum bootstrap_counters {
    COUNTERS_KNOWN,   /* right, but for changes of lost transactions if the recount takes long */
    COUNTERS_AWAITED, /* a recount runs; commands without CMD_UNCOUNTED wait for it */
    COUNTERS_LATE,    /* the first count runs for long; such commands are answered with -LOADING */
};
enum bootstrap_counters bootstrap_counters(void);
/* True while leases are read and jobs are counted. */
bool bootstrap_counts_jobs(void);
/* Lets commands go on that have waited for long. Called at each tick. */
void bootstrap_tick(void);
struct bootstrap_hooks {
    void (*on_loaded)(void);        /* after the first load, before the jobs are counted */
    void (*on_snapshot)(void);      /* the snapshot is taken whose jobs are counted: recount.h */
    void (*on_counted)(bool first); /* the jobs were counted: at start, or again */
    void (*offer_again)(void);      /* commands that waited for the counters go on */
};
void bootstrap_on(struct bootstrap_hooks hooks);

#endif
