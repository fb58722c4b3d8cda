#ifndef PEER_QUEUES_H
#define PEER_QUEUES_H

#include <stdint.h>
#include "base/node.h"
#include "queue/news.h"

/* What other servers tell of queues and jobs, and what has to be asked of the database then. */

/* An item with numbers (news.h). Those about queues that are not known here yet wait until their
 * rows have been read. */
void peer_queues_hear(struct node *n, enum news_item item, const int64_t *numbers, int count);
/* Reads the rows of all queues: that one is new, or has changed, may have been missed. */
void peer_queues_look(void);
/* Once a second: looks at a page of the queues' rows for queues of which no message told. may_probe: once a minute
 * also for jobs in queues that are known as empty. */
void peer_queues_page(bool may_probe);
/* Looks for the leases of servers that do not live. */
void peer_queues_inherit(void);

#endif
