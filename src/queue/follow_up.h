#ifndef FOLLOW_UP_H
#define FOLLOW_UP_H

#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"

/*
 * Follow-ups that are under way: tasks that may put the next job of a group, or the successors of a job, into their
 * queues. They follow the transaction that added or ended a job. A client that knows of that job expects the next
 * one. So a GETJOB with NOHANG waits for the follow-ups that began before it.
 */
struct follow_ups_of;

/* Part of a task. */
struct follow_up {
    struct list node; /* in the list of all follow-ups, ordered by `number` */
    uint64_t number;
    struct follow_ups_of *of; /* NULL: it has not begun */
};

/* Its jobs enter this queue. 0: any queue. */
void follow_up_begin(struct follow_up *f, int32_t queue_id);
/* The follow-ups that begin from now on count as begun with that one, which causes them. NULL: with none. */
void follow_ups_set_cause(const struct follow_up *cause);
/* May be called for a follow-up that has not begun or that has ended. */
void follow_up_end(struct follow_up *f);
/* The number of the last follow-up that may put jobs into the queue; 0: none is under way. queue_id 0: into any queue. */
uint64_t follow_ups_last(int32_t queue_id);
/* True if all follow-ups up to that number have ended. */
bool follow_ups_have_ended(uint64_t number);
/* fn is called when the first of the follow-ups has ended. */
void follow_ups_on_ended(void (*fn)(void));

#endif
