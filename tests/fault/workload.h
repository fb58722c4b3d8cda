#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdbool.h>
#include "conn.h"

/*
 * What producers ask for: to which queue a job goes, and with which options. Behind the ordinary queues, of which
 * there are so many as the plan says, come those of one purpose; check.py knows their numbers.
 */
enum special_queue {
    QUEUE_ORDER,        /* one producer, one consumer */
    QUEUE_FULL,         /* MAXLEN */
    QUEUE_KEYS,         /* UNIQUE: key_clients.h */
    QUEUE_POISON,       /* ATTEMPTS: nobody acknowledges these */
    QUEUE_GROUPS,       /* GROUP */
    QUEUE_LIMITED,      /* max-active, as the scenario has set it */
    QUEUE_DEAD_LETTERS, /* the DEADQUEUE of some of the poison */
    QUEUE_KEPT,         /* retention, as the scenario has set it */
    SPECIAL_QUEUES,
};

void workload_start(int queues, int retry_max);
int workload_queue(enum special_queue which);
/* With those. */
int workload_all_queues(void);

/* The first queues are added to at one server, and taken from at the others. */
int workload_queue_to_add(const struct conn *c);
/* key_clients: somebody adds jobs with keys. */
int workload_queue_to_take(const struct conn *c, bool key_clients);
/* Sends an ADDJOB of any kind; client 0 adds jobs whose order is judged. */
void workload_add_job(struct conn *c);

#endif
