#ifndef FILES_H
#define FILES_H

#include <stdbool.h>
#include <stddef.h>
#include "base/util.h"

/*
 * Open files: every client is one, and so is every connection to the database, which must be
 * possible at any time. So clients get what the limit leaves.
 */

/* Raises the limit for config.maxclients, or lowers config.maxclients to what it allows. False
 * with a sentence in err when nothing is left for clients. Again after a change of maxclients. */
bool files_prepare(char *err, size_t err_size) MUST_CHECK;

/* What config.maxclients was before that. */
int files_clients_wanted(void);

/* Is fd, which was just opened, one of the last that there are? Not for clients, then. The limit
 * is asked for each time: it can be changed from outside. */
bool files_are_few(int fd);

#endif
