#ifndef FINISHED_H
#define FINISHED_H

#include "batch/op.h"
#include "net/req.h"

/*
 * Jobs that are done, and are kept for as long as their queue says (QCONFIG retention). They leave
 * by the tables that hold them being emptied, one by one, as their time is over: see finish_jobs.sql.
 */

/* Ends an ACKJOB that was sent a second time, and whose first try may have been committed: counts what
 * this server has kept since then. */
void finished_recall(struct req *r);
/* SHOW of jobs that do not live. */
void finished_show(struct req *r);
/* Once a second: empties tables whose time is over. */
void finished_tick(void);

#endif
