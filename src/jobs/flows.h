#ifndef FLOWS_H
#define FLOWS_H

#include <stdint.h>

/*
 * Workflows and batches: jobs that wait for other jobs, and jobs that are counted together. The end of a job is
 * durable with the transaction that ends it: its row is gone, and pgdisque.flow_job has its outcome unless it is done.
 * The server then counts the end in a transaction of its own: for the batch, and for the jobs that wait. The same
 * transaction releases or cancels these, and adds the completion job. If the server fails before that, the leader
 * finds the job within seconds.
 */

/* A job with a row in pgdisque.flow_job has ended, and that is committed. */
void flow_job_ended(int64_t id);
/* A batch was closed. */
void flow_batch_closed(int64_t id);
/* flows_look() is called ten times a second, the others once a second. */
void flows_look(void);
void flows_expire(void);
void flows_prune(void);

#endif
