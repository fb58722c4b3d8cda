#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdbool.h>
#include "conn.h"

/* The choice of a job's queue and options by producers. The plan has a number of ordinary queues. After these come the
 * queues of a single purpose. check.py knows their numbers. */
enum special_queue {
    QUEUE_ORDER,        /* one producer, one consumer */
    QUEUE_FULL,         /* MAXLEN */
    QUEUE_KEYS,         /* UNIQUE: key_clients.h */
    QUEUE_POISON,       /* ATTEMPTS: no client acknowledges these */
    QUEUE_GROUPS,       /* GROUP */
    QUEUE_LIMITED,      /* max-active, as the scenario has set it */
    QUEUE_DEAD_LETTERS, /* the DEADQUEUE of some of the poison */
    QUEUE_KEPT,         /* retention, as the scenario has set it */
    QUEUE_FLOWS,        /* AFTER: flow_clients.h */
    QUEUE_REPLACED,     /* UNIQUE REPLACE: key_clients.h */
    QUEUE_STARTS,       /* UNIQUE UNTIL START: key_clients.h */
    QUEUE_SKIPPED,      /* of a schedule with OVERLAP skip, as the scenario has set it */
    QUEUE_RENEWED,      /* of a schedule with OVERLAP replace */
    QUEUE_BURSTS,       /* burst_clients.h */
    SPECIAL_QUEUES,
};

void workload_start(int queues, int retry_max);
int workload_queue(enum special_queue which);
/* Includes the queues of a single purpose. */
int workload_all_queues(void);

/* Producers add to the first queues at one server, and consumers take from them at the others. */
int workload_queue_to_add(const struct conn *c);
/* key_clients is true if clients add jobs with keys. */
int workload_queue_to_take(const struct conn *c, bool key_clients);
/* Sends an ADDJOB of any kind. The checker judges the order of client 0's jobs. */
void workload_add_job(struct conn *c);

#endif
