#ifndef ADMISSION_H
#define ADMISSION_H

#include <stdbool.h>
#include "acl/user.h"
#include "base/util.h"
#include "net/client.h"
#include "net/sockets.h"

/* Decides which accepted sockets become clients, and which clients may log in: maxclients, maxclients-per-address,
 * maxclients-per-user, protected-mode. */

/* Clients that are accepted above maxclients, if they need a login. Only administrators may log in there: users with the
 * right to CLIENT KILL, who can make room. */
#define ADMISSION_EXTRA 8

/* True if the socket may become a client. Otherwise the socket gets an error and is closed. */
bool admission_or_close(int fd, enum socket_kind kind) MUST_CHECK;
/* NULL if the client may log in as this user. Else the error: the login counts as a rejected connection, and the caller
 * closes the client. */
const char *admission_refuse_login(const struct client *c, const struct user *u);

#endif
