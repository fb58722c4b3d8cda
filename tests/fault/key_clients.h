#ifndef KEY_CLIENTS_H
#define KEY_CLIENTS_H

#include "conn.h"

/* Clients that race for keys. At each moment all of them add a job with the same key, and a while later again. */
enum key_kind {
    KEY_TAKEN,    /* half of the keys stay taken for some seconds, the others until the end of the job */
    KEY_REPLACED, /* REPLACE: the job that has the key gets the new body, and sometimes a new delay */
    KEY_STARTS,   /* UNTIL START: the key is free when the job is delivered; the jobs are delayed */
};

extern const struct conn_role key_client_role;

/* The data of a client, for conn.data. The caller frees it. */
void *key_client_new(enum key_kind kind, int queue, int retry);
/* Do they go on? */
void key_clients_run(bool run);

#endif
