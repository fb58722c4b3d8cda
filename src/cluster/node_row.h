#ifndef NODE_ROW_H
#define NODE_ROW_H

#include "base/node.h"
#include "batch/op.h"
#include "net/req.h"

/* The rows of servers in the database: that this one lives, leaves, has gone; and that one is forgotten. */

/* Writes that this server lives, and whether it is leaving. */
void node_row_beat(void);
/* Was there no row to write to, the last time? Told once. */
bool node_row_is_forgotten(void);
/* Writes that it has signed off. */
void node_row_leave(void);

#endif
