#ifndef ADMIN_H
#define ADMIN_H

#include "batch/op.h"
#include "net/req.h"

/* What removes everything: DEBUG FLUSHALL and CLUSTER RESET. */

/* Removes all jobs, hides all queues, ends waiting GETJOBs; replies OK, ends r. */
void admin_flush_all(struct req *r);

/* All jobs were removed, here or at another server. */
void admin_flushed(void);

#endif
