#ifndef EMBEDDED_H
#define EMBEDDED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <event2/event.h>
#include "base/util.h"

/*
 * The private Postgres under config.dir: made at the first start, run as a
 * child process, started again when it dies, stopped with the server.
 *
 *     <dir>/pgdisque.lock   held while a server uses the directory
 *     <dir>/postgres/       the data directory; its socket is there, too
 *     <dir>/postgres.log    what initdb and Postgres write, and postgres.log.1 the part before
 *
 * It cannot outlive the server: the kernel sends it a fast shutdown when the
 * thread that started it ends, kill -9 included. So embedded_start() must be
 * called by a thread that stays, and after the server has put itself into the
 * background.
 */

/*
 * Makes or opens the data directory and starts Postgres in it. Blocks for
 * initdb, and while the Postgres of a server that was killed shuts down; both
 * are logged. Does not wait for Postgres to take connections: whoever connects
 * tries again until it does. Afterwards all happens in base's loop.
 * False with one sentence in err; nothing runs and nothing is locked then.
 */
bool embedded_start(struct event_base *base, char *err, size_t err_size) MUST_CHECK;

/*
 * Where this process reaches it: host, port, user and dbname for libpq. The
 * database is "postgres", which initdb makes, and the user its superuser.
 * Constant from embedded_start() to embedded_stop(), across restarts.
 */
const char *embedded_conninfo(void);

/* The same for a Postgres that another process runs in config.dir. NULL when none takes connections there,
 * or the path is too long for a socket address. The caller frees it. */
char *embedded_visit(void);

/* The postmaster, or 0 while there is none. */
pid_t embedded_pid(void);

/* There is a postmaster; it may still be recovering. */
bool embedded_running(void);
/* Is the disk of the data directory full? A sentence, valid until the next call; NULL: no. */
const char *embedded_trouble(void);

/*
 * Ends Postgres and waits for its end: a fast shutdown, after ten seconds an
 * immediate one. For after the loop; harmless when nothing was started.
 */
void embedded_stop(void);

#endif
