#ifndef ADMISSION_H
#define ADMISSION_H

#include <stdbool.h>
#include "base/util.h"
#include "net/sockets.h"

/* Decides which accepted sockets become clients: maxclients, maxclients-per-address, protected-mode. */

/* True if the socket may become a client. Otherwise the socket gets an error and is closed. */
bool admission_or_close(int fd, enum socket_kind kind) MUST_CHECK;

#endif
