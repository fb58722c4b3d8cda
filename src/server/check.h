#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include "base/util.h"

/*
 * --check: what can be known of a configuration without serving, also beside a server that runs with it. Nothing
 * is opened, made or changed here.
 */

/* The addresses, the unix socket, the directory, and the files that the server writes. False with a sentence in
 * err. */
bool check_here(char *err, size_t err_size) MUST_CHECK;

/* Does the database let us in? False with a sentence in err when asking again does not help: a wrong password, no
 * such role or database. True when it does, or cannot be reached now. Blocks for ten seconds at most. */
bool check_login(const char *conninfo, char *err, size_t err_size) MUST_CHECK;

#endif
