#ifndef CLIENT_LINE_H
#define CLIENT_LINE_H

#include "base/buf.h"
#include "net/client.h"

/* Appends the line of the client as CLIENT INFO replies it, with a line end. */
void client_describe(struct buf *out, const struct client *c);

#endif
