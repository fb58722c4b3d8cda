#ifndef CLIENT_MEMORY_H
#define CLIENT_MEMORY_H

#include "net/client.h"

/* The memory of clients, and the eviction of the largest ones. */

/* Counts the memory of the buffers of c again, after they have changed. */
void client_count_buffers(struct client *c);
/* Sets the number of bytes of its replies that its other end, in this process, has read and holds. They count as its
 * output until it is freed, because its eviction frees them, too. */
void client_count_replies(struct client *c, size_t bytes);
/* Disconnects the largest clients while all clients use more memory than the budget. Called at the end of a turn. */
void clients_evict(void);

#endif
