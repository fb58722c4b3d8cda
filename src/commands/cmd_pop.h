#ifndef CMD_POP_H
#define CMD_POP_H

#include <stdbool.h>
#include "net/client.h"

/* CLIENT UNBLOCK: ends the request of c that will wait as soon as the queue has a row and a consume end. False if
 * there is none. */
bool list_take_unblock(struct client *c, bool error);

#endif
