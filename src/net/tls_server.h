#ifndef TLS_SERVER_H
#define TLS_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include "base/tls.h"

/*
 * The TLS context of the server, made of the tls-* options. Clients are accepted with the newest context. Connected
 * clients keep their own.
 */

/* Makes a context from the options and the files that they name. False with a sentence in err: the context before
 * stays. Does nothing if tls-port is 0. */
bool tls_server_load(char *err, size_t err_size) MUST_CHECK;
/* Loads the context now, and at each CONFIG SET of a tls-* option. */
bool tls_server_start(char *err, size_t err_size) MUST_CHECK;
/* Sets days to the whole days until the server's certificate expires; they are negative after that. False without TLS. */
bool tls_server_days_left(int *days) MUST_CHECK;
/* Begins TLS on an accepted socket. */
struct tls *tls_server_accept(int fd);

#endif
