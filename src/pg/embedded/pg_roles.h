#ifndef PG_ROLES_H
#define PG_ROLES_H

#include <stdbool.h>
#include <stddef.h>
#include "base/util.h"
#include "pg/embedded/datadir.h"
#include "pg/embedded/pg_binaries.h"

/*
 * The roles of the embedded Postgres. The server connects as the role pgdisque, which owns the database and the schema
 * and has no other power than pg_monitor. The superuser is pgdisque_superuser: only root can connect as it, by the
 * socket. The server itself uses the superuser only in single-user mode, to make these roles.
 */

/*
 * Makes the roles in the open data directory d->fd, whose path is dir, unless that was done before. No Postgres may run
 * in it. A directory in which the server itself was the superuser is changed over. Blocks.
 */
bool pg_roles_make(const struct datadir *d, const struct pg_binaries *p, const char *dir, char *err,
                   size_t err_size) MUST_CHECK;

#endif
