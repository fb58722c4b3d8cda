#ifndef SESSION_H
#define SESSION_H

#include <stddef.h>
#include <libpq-fe.h>

/* Our sessions in the database: what they are called, and how their connections begin. */
struct session_name {
    char text[64];
};

/* what: the lane, or "probe". It tells the sessions of this server from those of others, too. */
struct session_name session_name(const char *what);

/* Begins a connection to one of the hosts (hosts.h) for a session of that name; its owner polls it.
 * Never NULL. */
PGconn *session_connect(size_t host, const char *what);

#endif
