#ifndef PEER_SQL_H
#define PEER_SQL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What the functions for SQL (sql/api/) tell when their transactions are committed. They speak as a
 * server of number 0 would, with two differences: they have no memory, so what they have counted is told
 * as differences, and nobody watches their leases; both is taken over by the heir (node.h). And there are
 * many of them at once, so their messages come in any order, some of them long after they were numbered.
 */
#define PEER_SQL_NUMBER 0

/* Items (news.h) of the message of that number. One that is not fresh comes of a long transaction, or is a repeat:
 * its hints are followed, but what it counts has to be looked up. */
void peer_sql_hear(uint64_t message, bool fresh, const char *items);
/* The counters have just been read from the database: which messages they include is not known. */
void peer_sql_counted_anew(void);
/* Nothing of before counts any more: for tests. */
void peer_sql_reset(void);

#endif
