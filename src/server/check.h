#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include "base/util.h"

/*
 * --check: tests a configuration without serving clients. It may run beside a server with the same configuration. It
 * makes and changes no file.
 */

/* Checks the files of TLS, the addresses, the unix socket, the directory, and the files that the server writes. False with
 * a sentence in err. */
bool check_here(char *err, size_t err_size) MUST_CHECK;

/* Checks the login to the database. False with a sentence in err if a later try cannot succeed: a wrong password, an
 * unknown role or database, a certificate that is refused. True if the login succeeds, or if
 * the database cannot be reached now. Blocks for at most ten seconds. */
bool check_login(const char *conninfo, char *err, size_t err_size) MUST_CHECK;

#endif
