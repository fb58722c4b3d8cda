#ifndef PRIMARY_SELECT_H
#define PRIMARY_SELECT_H

#include "pg/db.h"

/* The selection of the host. All connections use the same primary, the one with the highest timeline. */
void place_init(const char *conninfo);
void place_stop(void);
/* Sets connection->host to the host for the next try. */
void place_choose(struct db_conn *conn);
/* The try has failed: moves to the next host. True if all hosts were tried since a host was accepted. */
bool place_next(struct db_conn *conn);
/* May the connection use the host with this result of identify.sql? If not, the connection is closed. */
bool place_accept(struct db_conn *conn, const PGresult *identity) MUST_CHECK;

#endif
