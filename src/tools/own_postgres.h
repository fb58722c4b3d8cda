#ifndef OWN_POSTGRES_H
#define OWN_POSTGRES_H

#include <event2/event.h>
#include "base/util.h"

/* The connection string of the database that the options of the server name. Without the option database it is the
 * database of the embedded Postgres, which the function starts if it does not run. The caller calls postmaster_stop()
 * at the end. With make, a missing embedded Postgres is made. NULL after an error message. The caller frees the
 * string. */
char *own_postgres_database(const char *tool, struct event_base *base, bool make);

/* Waits until the embedded Postgres that this process has started takes connections. */
void own_postgres_wait(struct event_base *base);

#endif
