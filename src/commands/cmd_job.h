#ifndef CMD_JOB_H
#define CMD_JOB_H

#include <stdint.h>
#include "base/job_key.h"
#include "batch/op.h"

/* A statement has put the job back into its queue. row_until is the end of the lease that the row had. last:
 * the job had used its last attempt, and becomes a dead letter. */
void job_put_back(struct job_key key, int64_t row_until, bool last);

#endif
