#ifndef MONITOR_H
#define MONITOR_H

#include "net/client.h"
#include "net/req.h"

/* Shows a request that is about to run to everybody who said MONITOR, but not
 * to a watcher the RESET by which it stops. Costs one comparison when there is
 * no watcher. */
void monitor_feed(const struct client *c, const struct req *r);
/* c watches from now on, or no longer; both may be said twice. */
void monitor_start(struct client *c);
void monitor_stop(struct client *c);

#endif
