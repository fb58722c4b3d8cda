#ifndef NODE_ROW_H
#define NODE_ROW_H

#include <stdbool.h>
#include "base/node.h"
#include "net/request.h"

/* Writes the rows of servers in the database: heartbeat, leaving, the end and CLUSTER FORGET. */

/* Writes the heartbeat of this server, and whether it is leaving. */
void node_row_beat(void);
/* True if the last heartbeat found no row of this server. The call resets it. */
bool node_row_is_forgotten(void);
/* Writes that this server has left. */
void node_row_leave(void);

#endif
