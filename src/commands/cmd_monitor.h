#ifndef CMD_MONITOR_H
#define CMD_MONITOR_H

#include "net/client.h"
#include "net/request.h"

/* Shows a request that is about to run to all clients that sent MONITOR. A client does not see the RESET that
 * ends its own MONITOR. Costs one comparison if no client monitors. */
void monitor_feed(const struct client *c, const struct req *r);
/* Stops showing requests to c. Repeated calls have no effect. */
void monitor_stop(struct client *c);

#endif
