/* layer 4 */
#ifndef CMD_JOB_H
#define CMD_JOB_H

#include <stdint.h>
#include "op.h"

extern struct op op_add_jobs;
extern struct op op_add_jobs_again;
extern struct op op_ack_jobs;
extern struct op op_requeue_jobs;
extern struct op op_requeue_again;
extern struct op op_dequeue_jobs;
extern struct op op_working_jobs;

/* Ends ADDJOBs whose ms-timeout is over, with -NOREPL. */
void addjob_expire(int64_t mono_us);
/* When the next one's is over (clock_mono()), INT64_MAX if none's. */
int64_t addjob_next_deadline(void);

#endif
