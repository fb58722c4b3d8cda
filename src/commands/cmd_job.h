#ifndef CMD_JOB_H
#define CMD_JOB_H

#include <stdint.h>
#include "base/jobid.h"
#include "batch/op.h"

/* A statement has put a job back into its queue, whose lease would have ended then; last: it had its last attempt,
 * and is buried. */
void job_put_back(struct job_key key, int64_t row_until, bool last);

#endif
