#ifndef FLOW_ARGS_H
#define FLOW_ARGS_H

#include "jobs/add_options.h"

/*
 * The arguments of AFTER and BATCH. Each is a job ID. In a transaction it may also be #n, which names the job of an
 * earlier command of that transaction: the first command after MULTI is #1. No job ID begins with #.
 */

/* Reads AFTER, ON FAIL and BATCH. If an argument is wrong, or the user may not read the queue of a job, replies an error,
 * ends r and returns false. */
bool flow_args_or_reply(struct req *r, struct add_options *o) MUST_CHECK;
/* Reads a batch: the ID of a batch or of one of its jobs, or the #n of a BATCH NEW. A job of a queue that the user may not
 * read counts as unknown: key.id is 0 then, and the caller replies the error. */
bool flow_batch_or_reply(struct req *r, struct slice text, struct job_ref *batch) MUST_CHECK;

#endif
