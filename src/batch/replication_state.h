#ifndef REPLICATION_STATE_H
#define REPLICATION_STATE_H

#include <stdbool.h>
#include "base/buf.h"

/* The synchronous standbys of the database, as of the last poll. The option durability requests them, but
 * synchronous_standby_names of the database decides whether there are any. */

/* Polls the database again. */
void replication_ask(void);
/* True if a commit can be on `count` standbys before its reply. False until the first result. */
bool replication_reach(int count);
/* The number of standbys that have a commit before its reply; 0 until the first result. */
int replication_count(void);
/* Standbys that a commit waits for, and the connected standbys of synchronous_standby_names, or STANDBYS_UNKNOWN. */
int replication_required(void);
int replication_connected(void);
#define STANDBYS_UNKNOWN (-1)
/* Appends the lines of INFO about durability, with a sentence in words. */
void replication_info(struct buf *out);

#endif
