#ifndef GET_IN_TXN_H
#define GET_IN_TXN_H

#include <stdint.h>
#include "batch/client_txn.h"
#include "batch/op.h"
#include "net/request.h"
#include "queue/queue.h"

/*
 * GETJOB in a client transaction. It sees the jobs that earlier commands of the transaction added, and it does not
 * wait. It takes from the queues in the order of its arguments. Its statement finds the jobs itself, because the
 * plans of take.h do not know jobs of an open transaction.
 */

/* The key after which a client transaction must search for ready jobs. It includes jobs that the transaction made. */
struct job_key first_in_txn(const struct queue *q, const struct client_txn *b);

/* The names of the queues begin at argument first. form: as for jobs_deliver(). */
void get_in_txn(struct req *r, int first, int64_t count, unsigned form);

#endif
