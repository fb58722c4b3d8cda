#ifndef CITUS_H
#define CITUS_H

#include "postgres.h"

/* Is the extension installed beside Postgres? Asks any running Postgres. */
bool citus_is_installed(struct postgres *pg);

/* Starts a Postgres that can be a node of a Citus cluster. */
void citus_start(struct postgres *node);

/* Makes a database with the extension at each node. The first node becomes the coordinator. Returns the name. */
const char *citus_database(struct postgres *const *nodes, int count);

/* Adds a node to the cluster of the database. */
void citus_add(struct postgres *coordinator, const char *database, struct postgres *node);

#endif
