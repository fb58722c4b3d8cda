#ifndef BURST_CLIENTS_H
#define BURST_CLIENTS_H

#include "conn.h"

/* Clients that keep a queue in flow, so that the server adds jobs ahead of their GETJOBs. A quarter of them add bursts of jobs,
 * the others take many jobs at once, and acknowledge nearly all. */
extern const struct conn_role burst_producer_role, burst_consumer_role;

/* The data of a client, for conn.data. The caller frees it. */
void *burst_client_new(int queue);
/* Do they go on? */
void burst_clients_run(bool run);

#endif
