#ifndef KEY_CLIENTS_H
#define KEY_CLIENTS_H

#include "conn.h"

/*
 * Clients that race for keys: at each moment all of them add a job with the same one, and a while
 * later with the same again. Half of the keys stay taken for some seconds, the others as long as
 * the job lives.
 */
extern const struct conn_role key_client_role;

/* Of one of them, for conn.data; to be freed. */
void *key_client_new(int queue, int retry);
/* Do they go on? */
void key_clients_run(bool run);

#endif
