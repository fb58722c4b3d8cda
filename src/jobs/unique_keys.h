#ifndef UNIQUE_KEYS_H
#define UNIQUE_KEYS_H

#include "jobs/add.h"

/* Queues the task of a again after CONTENTION_PAUSE_US: another session is taking its key. */
void unique_keys_pause(struct add *a);
/* Deletes expired keys whose jobs are gone. */
void unique_keys_prune(void);

#endif
