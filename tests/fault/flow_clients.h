#ifndef FLOW_CLIENTS_H
#define FLOW_CLIENTS_H

#include "conn.h"

/* Clients that add chains of jobs to a queue: each job waits for the job before it, and some wait for the first job, too.
 * They run after these have ended, also if these failed. */
extern const struct conn_role flow_client_role;

/* The data of a client, for conn.data. The caller frees it. */
void *flow_client_new(int queue, int retry_max);
/* Do they go on? */
void flow_clients_run(bool run);

#endif
