#ifndef CMD_BATCH_H
#define CMD_BATCH_H

#include "jobs/add_options.h"

/* For a request of a client transaction whose handler was called: the batch that it opens. False if it is no BATCH NEW, or
 * was refused. */
bool batch_new_ref(const struct req *r, struct job_ref *ref) MUST_CHECK;

#endif
