/* layer 4 */
#ifndef CMD_JOB_H
#define CMD_JOB_H

#include <stdint.h>
#include "jobid.h"
#include "op.h"

/* A statement has put a job back into its queue, whose lease would have ended then; last: it had its last attempt,
 * and is buried. */
void job_put_back(struct job_key key, int64_t row_until, bool last);
/* Ends ADDJOBs whose ms-timeout is over, with -NOREPL. */
void addjob_expire(int64_t mono_us);
/* Forgets keys that outlived their jobs and whose time is over. */
void add_unique_prune(void);
/* Those that wait for a key which another session is taking: asks for it again; and when that is due (clock_mono()). */
void add_unique_turn(int64_t mono_us);
int64_t add_unique_next_turn(void);
/* When the next one's is over (clock_mono()), INT64_MAX if none's. */
int64_t addjob_next_deadline(void);

#endif
