#ifndef EVENTS_H
#define EVENTS_H

#include "http/http_conn.h"

/*
 * GET /api/events[?queue=name]: a stream of server-sent events. Each second it sends the figures of the server, and those
 * of the queue by QSTAT.
 *
 * A stream has a client of its own (gateway.h), so it ends when its user is removed or loses the right to the figures that
 * it asks for. Without the right to INFO, a stream of a queue has no figures of the server. These come from memory, and
 * are written once a second for all streams.
 */
#define EVENTS_MAX 100
/* Streams of one user, so that others find room. */
#define EVENTS_OF_USER_MAX 64

void events_serve(struct http_conn *c);
/* The connection is closed. */
void events_forget(struct http_conn *c);

#endif
