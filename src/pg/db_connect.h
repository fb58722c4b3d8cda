#ifndef DB_CONNECT_H
#define DB_CONNECT_H

#include "pg/db.h"

/* Opens a connection: host, session settings, migrations, prepared statements. */

/* Begins to connect. */
void conn_connect(struct db_conn *conn);
/* Events of a connection that is not ready yet: the socket, and the timer. */
void conn_connect_step(struct db_conn *conn);
void conn_connect_timer(struct db_conn *conn);
/* The value for Postgres' synchronous_commit. */
const char *durability_setting(enum durability durability);
/* The durability of transactions of conn for which that one is wanted. The connections for reads never wait for standbys,
 * because they query their state. Their own writes may be lost. */
enum durability conn_durability(const struct db_conn *conn, enum durability wanted);
/* Sends the statement that sets the durability of the session, or of this transaction only. */
bool send_durability(PGconn *pg, enum durability durability, bool transaction) MUST_CHECK;

#endif
