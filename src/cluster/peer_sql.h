#ifndef PEER_SQL_H
#define PEER_SQL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Messages of the SQL functions (sql/api/), sent when their transactions commit. The functions appear as server
 * number 0, with two differences. They keep no state, so they send their counters as differences, and no server of
 * theirs watches their leases: the leader (node.h) takes over both. Many sessions send at once, so their messages
 * arrive in any order, and some arrive long after they got their number.
 */
#define PEER_SQL_NUMBER 0

/* Handles the items (outbox.h) of a message. fresh: false for a repeat and for a message of a long transaction. The
 * hints of such a message are followed, but its counters are not added: they are read from the database. */
void peer_sql_receive(uint64_t message, bool fresh, const char *items);
/* The counters were just read from the database. It is not known which messages they include. */
void peer_sql_counted_again(void);
/* For tests: forgets all messages. */
void peer_sql_reset(void);

#endif
