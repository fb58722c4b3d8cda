#ifndef CMD_CANCEL_H
#define CMD_CANCEL_H

#include "net/request.h"

/* Cancels the jobs of job_ids(r), of which there is one at least, replies their number, and ends r. */
void cancel_send(struct req *r);

#endif
