#ifndef ROLES_H
#define ROLES_H

#include <stdbool.h>
#include <stdint.h>
#include <event2/event.h>

/*
 * What clients do. Producers add jobs of all kinds. Consumers take them, and deal with each as a
 * seeded choice says: acknowledge it, hand it to another client that does so later, perhaps too
 * late, send it back, let it lie, die. Producer and consumer 0 have a queue of their own, in which
 * order can be judged. Nobody acknowledges what is in the queue of poison. Where there are several
 * servers, some queues are added to at one and taken from at the others only.
 */
enum phase {
    PHASE_LOAD,  /* all do their work */
    PHASE_STOP,  /* nothing new is begun */
    PHASE_DRAIN, /* consumers take and acknowledge all that is left */
};

struct plan {
    int producers;
    int consumers;
    int hands;       /* clients that carry out what consumers put off */
    int key_clients; /* clients that add jobs with the same keys at the same time */
    int queues;      /* besides those of workload.h */
    int rate;        /* jobs added a second, by all producers */
    int retry_max;   /* seconds */
    bool gentle;     /* no client dies */
};

void roles_start(const struct plan *plan);
void roles_set_phase(enum phase phase);
/* Is nothing under way? */
bool roles_idle(void);
/* Seconds for which, in PHASE_DRAIN, there has been no job, asked again and again of each server. */
double roles_quiet_s(void);
/* Leaves servers that do not answer, see conn.h. */
void roles_lose_patience(void);
void roles_free(void);

/* For the line of progress. */
extern uint64_t roles_added, roles_taken, roles_acked;

#endif
