#ifndef CLIENT_MEMORY_H
#define CLIENT_MEMORY_H

#include "net/client.h"

/* The memory of clients, and the eviction of the largest ones. */

/* Counts the memory of the buffers of c again, after they have changed. */
void client_count_buffers(struct client *c);
/* Disconnects the largest clients while all clients use more memory than the budget. Called at the end of a turn. */
void clients_evict(void);

#endif
