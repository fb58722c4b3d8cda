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
 * Claims of list commands. The jobs are deleted, or moved to another list, in one transaction. The requests wait
 * and take turns with GETJOB (waiters.h, claim.h). For such a get, own is a struct pop, and the plan of its kind is
 * pop_plan(). All pops of one queue and end in a transaction are one statement.
 */
struct pop {
    enum list_end from;
    struct queue *to; /* the jobs are moved there; it has its row and its consume end. NULL: deleted */
    enum list_end to_end;
};

size_t pop_plan(struct get *g, struct queue *q);

/* A new id that is smaller than all others of a queue, for a handed-over element that is inserted as a job. */
int64_t pop_front_id(void);
/* A new id for a moved job, at the end p->to_end. */
int64_t pop_new_id(const struct pop *p);
/* A moved job: as it was, and its times in the new list. */
struct moved_job {
    int32_t ordinal; /* the slot, from 1 on */
    struct job job;
    int64_t to_wake_at;
    int64_t to_expires_at;
};

/* Reads a row of move_first.sql. The job points into the result. */
struct moved_job pop_read_moved(const PGresult *rows, int row, struct queue *q);
/* The move is committed. The job has this id in the new list. */
void pop_arrived(const struct pop *p, int64_t id, const struct moved_job *m);

#endif
