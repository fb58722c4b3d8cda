#ifndef FD_LIMIT_H
#define FD_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include "base/util.h"

/*
 * The limit on open files. Every client and every connection to the database is an open file. Some of the limit is
 * reserved, so that the server can connect to the database at any time. Clients get the rest.
 */

/* Raises the limit as far as config.maxclients needs it. If the limit stays too low, lowers config.maxclients. False
 * with a sentence in err if no file is left for clients. Call it again after a change of maxclients. */
bool fd_limit_prepare(char *err, size_t err_size) MUST_CHECK;

/* config.maxclients before fd_limit_prepare() lowered it. */
int fd_limit_clients(void);

/* Is fd, which was just opened, in the reserved part of the limit? A client must not get it then. Each call reads the
 * limit, because another process can change it. */
bool fd_limit_is_low(int fd);

#endif
