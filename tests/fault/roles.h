#ifndef ROLES_H
#define ROLES_H

#include <stdbool.h>
#include <stdint.h>
#include <event2/event.h>

/*
 * The roles of clients. Producers add jobs of all kinds. Consumers take jobs, and a seeded choice decides on each: the
 * consumer acknowledges it, passes it to another client that acknowledges it later (perhaps too late), sends it back,
 * keeps it, or dies. Producer 0 and consumer 0 have a queue of their own, whose order the checker judges. No client
 * acknowledges the jobs of the poison queue. With several servers, producers add to some queues at one server, and
 * consumers take from them at the others.
 */
enum phase {
    PHASE_LOAD,  /* all do their work */
    PHASE_STOP,  /* nothing new is begun */
    PHASE_DRAIN, /* consumers take and acknowledge all that is left */
};

struct plan {
    int producers;
    int consumers;
    int hands;        /* clients that execute the delayed actions of consumers */
    int key_clients;  /* clients that add jobs with the same keys at the same time */
    int flow_clients; /* clients that add jobs which wait for each other */
    int life_clients; /* half of them use UNIQUE REPLACE, the others UNTIL START; with them, workers use CANCEL */
    int burst_clients; /* a quarter of them add bursts of jobs to a queue, the others take many jobs at once */
    int queues;        /* besides those of workload.h */
    int rate;          /* jobs added a second, by all producers */
    int retry_max;     /* seconds */
    bool gentle;       /* no client dies */
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
