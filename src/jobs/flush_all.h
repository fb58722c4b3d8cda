#ifndef FLUSH_ALL_H
#define FLUSH_ALL_H

#include "net/request.h"

/* Removal of all jobs: DEBUG FLUSHALL and CLUSTER RESET. */

/* Removes all jobs and pauses, hides all queues, ends waiting GETJOBs. Replies OK and ends r. */
void flush_all_start(struct req *r);

/* All jobs were removed, by this server or another one: resets the state in memory. */
void flush_all_note(void);

#endif
