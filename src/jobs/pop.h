#ifndef POP_H
#define POP_H

#include <stddef.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "batch/op.h"
#include "net/client.h"
#include "queue/queue.h"
#include "queue/waiters.h"

/*
 * Claims of list commands: the jobs are taken away, or moved to another list, in one transaction. They wait
 * and take turns with GETJOB (waiters.h, claim.h). A get of theirs has own = struct pop, and its kind's plan
 * is pop_plan(). Of each queue and end, all that is popped in a flight is one statement.
 */
struct pop {
    enum list_end from;
    struct queue *to; /* moved there; NULL: taken away. Has its row, and its front is known. */
    enum list_end to_end;
};

size_t pop_plan(struct get *g, struct queue *q);

/* A job of its own for what was handed over without ever being one: it comes before all others. */
int64_t pop_front_id(void);
/* The id of what is moved now. */
int64_t pop_new_id(const struct pop *p);
/* A job that was moved: as it was, and how it is in its new place. */
struct moved_job {
    int32_t ordinal; /* of the place, from 1 on */
    struct job job;
    int64_t to_wake_at;
    int64_t to_expires_at;
};

/* Reads a row of move_first.sql; the result lives as long as the job. */
struct moved_job pop_read_moved(const PGresult *rows, int row, struct queue *q);
/* The move is committed, and the job has this id where it went. */
void pop_arrived(const struct pop *p, int64_t id, const struct moved_job *m);

#endif
