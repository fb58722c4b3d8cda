#ifndef SOCKETS_H
#define SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <event2/event.h>
#include "base/util.h"

/* Listening sockets, as configured, and functions for accepted sockets. */

enum socket_kind { SOCKET_TCP, SOCKET_UNIX, SOCKET_TLS };

/* on_accept gets non-blocking, close-on-exec sockets. False if it cannot listen; err then says what to
 * change. */
bool sockets_listen(struct event_base *base, void (*on_accept)(int fd, enum socket_kind kind), char *err,
                    size_t err_size) MUST_CHECK;
/* True if it could listen. An address in use is no error, because a server may be running. Opens nothing. */
bool sockets_check(char *err, size_t err_size) MUST_CHECK;
void sockets_stop_listening(void);

/* The peer's and the own address: "127.0.0.1:4711", "[::1]:4711", or the path of the unix socket and ":0". Both are ":0" if
 * the client has already reset the connection. */
void socket_names(int fd, bool unix_socket, char *peer, char *own, size_t size);
/* True if the peer is on this machine. */
bool socket_is_local(int fd);
/* True if protected mode refuses the socket's address. SOCKET_DENIED is the error without the minus. */
#define SOCKET_DENIED                                                                              \
    "DENIED pgdisque is in protected mode and no password is set: it takes connections from this " \
    "machine only. Set requirepass, or protected-mode no if the network is safe."
bool socket_is_denied(int fd, bool unix_socket);
/* Sets TCP_NODELAY, and keepalive by config.tcp_keepalive. */
void socket_tune(int fd, bool unix_socket);

/* True if it listens on an address that other machines may reach. */
bool sockets_reach_others(void);

/* The address where peers can reach this server: the announced one or the first one that it listens on. If
 * it listens on all, an address of this machine. "" if it does not listen. */
void sockets_address(char *out, size_t size);

#endif
