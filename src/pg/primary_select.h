#ifndef PRIMARY_SELECT_H
#define PRIMARY_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include "pg/db.h"

/* The selection of the host. All connections use the same primary, the one with the highest timeline. */

/* Has a standby become the primary since the last call? It may lack commits that it had not received. */
bool primary_was_promoted(void);
/* The host of the connections, as text for logs and INFO. */
const char *primary_host(void);
/* The same host as an index, for session_connect(). */
size_t primary_host_number(void);
/* The timeline of the database there, which grows with each promotion; 0: not known. */
long long primary_timeline(void);

/* ---- for the modules of this folder ---- */

void primary_init(const char *conninfo);
void primary_stop(void);
/* Sets conn->host to the host for the next try. */
void primary_choose(struct db_conn *conn);
/* The try has failed: moves to the next host. True if all hosts were tried since a host was accepted. */
bool primary_next(struct db_conn *conn);
/* May the connection use the host with this result of identify.sql? If not, the connection is closed. */
bool primary_accept(struct db_conn *conn, const PGresult *identity) MUST_CHECK;

#endif
