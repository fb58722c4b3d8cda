#ifndef TAKE_IN_TXN_H
#define TAKE_IN_TXN_H

#include <stdint.h>
#include "jobs/list_take.h"
#include "net/request.h"

/*
 * GETJOB, and list commands that take elements, in a client transaction. They see the effects of the commands before
 * them, and they do not wait. They take from the queues in the order of their arguments. The statements find the jobs
 * themselves, from the first key that may have a job. The plans of take.h do not know jobs of an open transaction.
 */

/* GETJOB. The names of the queues begin at argument first. form: as for jobs_deliver(). */
void get_in_txn(struct req *r, int first, int64_t count, unsigned form);
void pop_in_txn(struct list_take *t);

#endif
