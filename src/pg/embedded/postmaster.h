#ifndef POSTMASTER_H
#define POSTMASTER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <event2/event.h>
#include "base/util.h"

/*
 * The embedded Postgres under config.dir. The first start of the server makes its data directory. Postgres runs as a
 * child process. The server starts it again if it dies, and stops it at its own end.
 *
 *     <dir>/postgres.moved  the jobs were moved to another database
 *     <dir>/pgdisque.lock   held while a server uses the directory
 *     <dir>/postgres/       the data directory, and the unix socket
 *     <dir>/postgres.log    the output of initdb and Postgres; postgres.log.1 is the older part
 *
 * Postgres cannot outlive the server. The kernel sends Postgres the signal for a fast shutdown when the thread that
 * started it ends, kill -9 included. Therefore call postmaster_start() in a thread that lives as long as the server, and
 * after the server has gone to the background.
 */

/*
 * Makes or opens the data directory and starts Postgres in it. Blocks for initdb, and while the Postgres of a killed
 * server shuts down; both are logged. Does not wait until Postgres takes connections: the connections try again until
 * then. Everything after the start happens in base's loop. False with one sentence in err; then nothing runs and
 * nothing is locked.
 */
bool postmaster_start(struct event_base *base, char *err, size_t err_size) MUST_CHECK;

/*
 * The connection string for this process: host, port, user and dbname. The database is "postgres", which initdb makes,
 * and the user is the role pgdisque (pg_roles.h). The string stays the same from
 * postmaster_start() to postmaster_stop(), even if Postgres is started again.
 */
const char *postmaster_conninfo(void);

/* The connection string for a Postgres that another process runs in config.dir. NULL if no Postgres takes connections
 * there, or if the path is too long for a socket address. The caller frees it. */
char *postmaster_visit(void);

/* Notes in config.dir that the jobs were moved: no server starts on them any more (datadir.h). False with a sentence in
 * err. */
bool postmaster_note_moved(const char *to, char *err, size_t err_size) MUST_CHECK;

/* The process ID of the postmaster, or 0 while none runs. */
pid_t postmaster_pid(void);

/* For tests: does a postmaster run? It may still be in recovery. */
bool postmaster_is_running(void);
/* A sentence that the disk of the data directory is full, valid until the next call; NULL if it is not full. */
const char *postmaster_trouble(void);

/*
 * Ends Postgres and waits for its end: a fast shutdown, after ten seconds an immediate shutdown. Call it after the
 * loop. Does nothing if no Postgres was started.
 */
void postmaster_stop(void);

#endif
