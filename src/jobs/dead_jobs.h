#ifndef DEAD_JOBS_H
#define DEAD_JOBS_H

#include "net/request.h"

/* Continue a request about job IDs (id_list.h) whose jobs were not all found. They revive or delete the jobs that
 * are dead letters, reply the number of all jobs found, and end r. */
void dead_revive_or_reply(struct req *r);
void dead_delete_or_reply(struct req *r);

#endif
