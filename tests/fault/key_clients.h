#ifndef KEY_CLIENTS_H
#define KEY_CLIENTS_H

#include "conn.h"

/* Clients that race for keys. At each moment all of them add a job with the same key, and a while later again. Half of
 * the keys stay taken for some seconds, the others until the end of the job. */
extern const struct conn_role key_client_role;

/* The data of a client, for conn.data. The caller frees it. */
void *key_client_new(int queue, int retry);
/* Do they go on? */
void key_clients_run(bool run);

#endif
