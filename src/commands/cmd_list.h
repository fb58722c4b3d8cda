#ifndef CMD_LIST_H
#define CMD_LIST_H

#include "batch/flight_mark.h"
#include "batch/op.h"
#include "net/req.h"
#include "queue/queue.h"
#include "queue/queue_row.h"

/* Lists are read and changed within; pop.h and push.h are about their ends. */

/* A command that looks at a list: first of what its request's data points at. */
struct looking {
    struct req *req;
    struct parked parked; /* while the front is asked for */
    struct queue *q;
    bool opening;        /* its row is waited for */
    struct op *at_front; /* begins at the front of the list, or at its other end */
    struct op *at_back;
    enum list_end from;    /* the end at which it begins */
    struct lost_task lost; /* what changes the list, and must not do so twice */
};

/* Between MULTI and EXEC, what counts is what the statements before it have done. */
static inline bool looking_inside(const struct looking *l) {
    return l->req->task.bundle != NULL;
}

/* False when there is no such queue in the database, nor will be. r->data is l. */
bool looking_init(struct looking *l, struct req *r, struct op *at_front, struct op *at_back);
/* Sends the request's task, when the front of the list is known. */
void looking_start(struct looking *l);
/* Nobody has used it as a list: as if it had been pushed to from the left. */
enum list_end looking_front(const struct queue *q);

/* The first parameters: the queue, and the key behind which its jobs are. */
void looking_encode(struct params *p, const struct looking *l);
/* The same for what changes the list: its flight is marked. */
void looking_encode_change(struct params *p, struct looking *l);
/* Rows that were removed: rank, id, ready_at, expires_at, retry, group_key. */
void looking_count_gone(const struct looking *l, const PGresult *rows);
struct job_key looking_key(const struct looking *l, const PGresult *rows, int row);

void looking_fail(struct task *t, const struct op_error *err);
/* op.again of a change: whether it was committed is asked for. */
bool looking_again(struct task *t, bool unknown);

/* Indexes beyond any list mean no more than those that 32 bits hold. */
int64_t list_index(int64_t index);

/* It was done, and its answer is lost. */
#define LIST_LOST "UNKNOWN this was done, but the connection to the database was lost with the answer"

#endif
