#ifndef PEER_QUEUES_H
#define PEER_QUEUES_H

#include <stdint.h>
#include "cluster/outbox.h"
#include "cluster/peer.h"

/* Handles messages of peers about queues and jobs, and the reads of the database that these messages require. */

/* Handles an item with numbers (outbox.h). An item about a queue that is not known here waits until the rows of
 * queues have been read. */
void peer_queues_receive(const struct peer *p, enum outbox_item item, const int64_t *numbers, int count);
/* Reads the rows of all queues, because a message about a new or changed queue may have been missed. */
void peer_queues_look(void);
/* Call once a second. Reads a page of the queues' rows to find queues without a message. may_probe, true once a
 * minute: also looks for jobs in queues that are empty according to their counters. */
void peer_queues_page(bool may_probe);
/* Adopts the leases of failed servers. */
void peer_queues_adopt(void);

#endif
