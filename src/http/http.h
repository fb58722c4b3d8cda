#ifndef HTTP_H
#define HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <event2/event.h>
#include "base/util.h"

/*
 * HTTP on http-port: the web page, /metrics, /health, /ready, and the paths below /api/.
 *
 * Each path but /ready runs a command (gateway.h). The login is that of HTTP's Basic authentication, and the command's
 * rights are those of the user.
 *
 * Limits: HTTP_CLIENTS_MAX connections, 30 seconds for a request, 8 KB of headers, and a body of HTTP_BODY_MAX.
 */
#define HTTP_BODY_MAX ((size_t)1024 * 1024)

/* The port of http-port auto. */
#define HTTP_PORT_AUTO 7780

/* Listens on http-port at the addresses of bind. Does nothing if the port is 0. False if it cannot listen; err then
 * says what to change. With http-port auto it listens only if the server has a Postgres of its own and only addresses of
 * the loopback interface, and a failure is only logged. */
bool http_start(struct event_base *base, char *err, size_t err_size) MUST_CHECK;
/* The address of the page for a browser of this machine; empty if the server does not listen for HTTP. */
const char *http_page_address(void);
/* Call it once in a turn: serves requests until the share of HTTP is over. The others wait for the next turn. */
void http_turn(void);
/* Do requests wait for http_turn()? */
bool http_pending(void);
/* Accepts no more connections and no more requests. */
void http_stop_listening(void);
/* True if no request is in progress and every reply is written. */
bool http_is_idle(void);
/* Closes the sockets and ends all requests. */
void http_stop(void);

#endif
