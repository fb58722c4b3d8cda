#ifndef OUTPUT_LIMITS_H
#define OUTPUT_LIMITS_H

#include "net/client.h"

/*
 * The limits of output that a client does not read: client-output-buffer-limit. A client over its soft limit gets no
 * more replies. It is closed if that lasts.
 */

/* True if the output exceeds the soft limit. */
bool output_is_flooded(const struct client *c);
/* True if the client is to be closed. Notes since when the output exceeds the soft limit. */
bool output_is_over_limit(struct client *c);

#endif
