#ifndef CMD_ADDJOB_H
#define CMD_ADDJOB_H

#include "jobs/add.h"

/* Replies the ID of the job, in the form that the client wants. */
void addjob_reply(struct req *r, const struct added *job);

#endif
