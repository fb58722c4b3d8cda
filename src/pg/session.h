#ifndef SESSION_H
#define SESSION_H

#include <stddef.h>
#include <libpq-fe.h>

/* The names of this server's sessions in the database (application_name), and the begin of their connections. */
struct session_name {
    char text[64];
};

/* what: the purpose, such as "write" or "probe". The name also contains the first digits of this server's ID. */
struct session_name session_name(const char *what);

/* Begins a connection to a host (conninfo_hosts.h) with the name for what. It does not wait for a name server:
 * host_addresses.h. The caller polls it with PQconnectPoll(). Never NULL. */
PGconn *session_connect(size_t host, const char *what);

#endif
