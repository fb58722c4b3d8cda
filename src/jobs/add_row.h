#ifndef ADD_ROW_H
#define ADD_ROW_H

#include <stddef.h>
#include "jobs/add.h"
#include "pg/params.h"
#include "queue/delivery.h"

/* Job i of a request, as a row of the parameters of the statements that add jobs. */

/* Writes the rare properties of a request to a->rare. All its rows have them. */
void add_write_rare(struct add *a);
struct job_times add_job_times(const struct add *a, size_t i);
/* True if add_jobs_alike.sql may insert the jobs of a. */
static inline bool add_is_alike(const struct add *a) {
    return addjob_is_plain(&a->opt) && !a->at_front && !addjob_has_attempts(&a->opt) &&
           !addjob_has_group(&a->opt);
}
/* True if the jobs of a are inserted with a lease. The lease ends at a->until. */
static inline bool add_is_leased(const struct add *a) {
    return a->to != NULL || a->ahead;
}
/* The length of the first lease. A job ahead is delivered after its insert, so its lease is longer by CLAIM_AHEAD_KEEP_US. The
 * client's lease has the same length. So it does not end before the lease of the row. */
int64_t add_lease_us(const struct add *a);
/* The job as it is delivered. Its body is that of the request. */
struct job add_delivered_job(const struct add *a, size_t i);
/* The parameters of add_jobs.sql, add_rare.sql and, for a unique job, of add_unique.sql. A unique job whose insert was
 * committed is written as expired. The statement does not add an expired job, and only finds which job has the key. */
void add_write_row(struct params *p, const struct add *a, size_t i);
/* The parameters that all jobs of add_jobs_alike.sql or add_jobs_leased.sql share. */
void add_write_common(struct params *p, const struct add *a);
/* The parameters of each job of a. */
void add_write_alike(struct params *p, const struct add *a);
/* The parameters of add_in_flow.sql: those of add_rare.sql, and more. The last four have a row for each predecessor, or
 * one row of zeros. */
void add_write_flow_row(struct params *p, const struct add *a, size_t i);

#endif
