#ifndef ADD_ROW_H
#define ADD_ROW_H

#include <stddef.h>
#include "jobs/add.h"
#include "pg/params.h"

/* Job i of a request, as a row of the parameters of the statements that add jobs. */

/* Writes the rare properties of a request to a->rare. All its rows have them. */
void add_write_rare(struct add *a);
struct job_times add_job_times(const struct add *a, size_t i);
/* The parameters of add_jobs.sql, add_rare.sql and, for a unique job, of add_unique.sql. A unique job whose insert was
 * committed is written as expired. The statement does not add an expired job, and only finds which job has the key. */
void add_write_row(struct params *p, const struct add *a, size_t i);
/* The parameters of add_in_flow.sql: those of add_rare.sql, and more. The last four have a row for each predecessor, or
 * one row of zeros. */
void add_write_flow_row(struct params *p, const struct add *a, size_t i);

#endif
