#ifndef RETAINED_H
#define RETAINED_H

#include "net/request.h"

/*
 * Retained jobs: done, and kept as long as QCONFIG retention says. They are stored in several tables in turn. A
 * table is emptied as a whole when its time is over: see retain_jobs.sql.
 */

/* Ends an ACKJOB that was sent again and whose first try may have been committed. Counts the jobs that this server
 * has retained since the first try. */
void retained_look_again(struct req *r);
/* SHOW of jobs without a row in pgdisque.job. */
void retained_show(struct req *r);
/* Call once a second: empties tables whose time is over. */
void retained_tick(void);

#endif
