#ifndef LIST_READ_H
#define LIST_READ_H

#include "batch/op.h"
#include "net/request.h"
#include "queue/queue.h"
#include "queue/queue_store.h"

/* Reads and changes of list elements that are not at an end. take.h and add.h have the operations on the
 * ends. */

/* A list command that searches the list. It is the first member of the struct that the request's data points
 * to. */
struct list_read {
    struct req *req;
    struct row_waiter row_waiter;
    struct queue *q;
    bool unsettled;      /* waits for the row of the queue, or for jobs ahead */
    struct op *at_front; /* operation that begins at the consume end */
    struct op *at_back;  /* operation that begins at the other end */
    enum list_end from;  /* the end where the command begins */
};

/* False if the queue has no row, and will have none when the statement begins. Sets r->data to l. */
bool list_read_init(struct list_read *l, struct req *r, struct op *at_front, struct op *at_back);
/* Sends the request's task once the consume end of the list is known. */
void list_read_start(struct list_read *l);
/* The consume end. END_RIGHT if no list command has used the queue, as after an LPUSH. */
enum list_end list_read_consume_end(const struct queue *q);
/* Sends the task again, for another part of the list. */
void list_read_send(struct list_read *l);
/* The key at which the search begins. Other servers may have added jobs before all known jobs, and their messages may
 * be on the way. Changes of a client transaction are not counted before its end. In both cases it is the lowest key. */
struct job_key list_read_first_key(const struct list_read *l);

/* Sets the first parameters: the queue, and the key behind which its jobs are. */
void list_read_encode(struct params *p, const struct list_read *l);
/* The same for a change. It also asks for a commit marker for the transaction. */
void list_read_encode_change(struct params *p, struct list_read *l);
/* Subtracts removed jobs from the counters. Columns of rows: rank, id, ready_at, expires_at, retry,
 * group_key, in_flow. */
void list_read_count_gone(const struct list_read *l, const PGresult *rows);
struct job_key list_read_key(const struct list_read *l, const PGresult *rows, int row);

void list_read_fail(struct task *t, const struct op_error *err);
/* op.again of a change that has asked for a commit marker. */
bool list_read_again(struct task *t, bool unknown);
/* op.answer_lost of a change whose result is needed for the reply. */
void list_read_answer_lost(struct task *t);

/* Limits an index to 32 bits, because no list is longer. */
int64_t list_index(int64_t index);

#endif
