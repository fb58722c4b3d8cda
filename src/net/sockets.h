#ifndef SOCKETS_H
#define SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <event2/event.h>
#include "base/util.h"

/* Listening sockets by the configuration, and what accepted ones are told. */

/* on_accept gets non-blocking, close-on-exec sockets. False with a sentence in
 * err that says what to change. */
bool sockets_listen(struct event_base *base, void (*on_accept)(int fd, bool unix_socket), char *err,
                    size_t err_size) MUST_CHECK;
/* Could it listen there? An address that is in use will do, because a server may be running. Opens nothing. */
bool sockets_check(char *err, size_t err_size) MUST_CHECK;
void sockets_stop_listening(void);

/* Peer's and own address, "127.0.0.1:4711", "[::1]:4711", or the unix socket's path. */
void socket_names(int fd, bool unix_socket, char *peer, char *own, size_t size);
/* Is the peer on this machine? */
bool socket_is_local(int fd);
/* No delay, keepalive by config.tcp_keepalive. */
void socket_tune(int fd, bool unix_socket);

/* Where others can reach this server: the announced address, the first one it listens on, or one of
 * this machine when it listens on all. "" when it listens on none. */
void sockets_address(char *out, size_t size);

#endif
