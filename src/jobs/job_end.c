/* The end of a job: updates counters, wakes waiting clients, and starts the next job of its group. */
#include "jobs/job_end.h"

#include "jobs/groups.h"
#include "pg/params.h"
#include "queue/queue.h"

void job_ended(const struct job_end *end) {
    queue_count_gone(end->key, end->queued_since);
    if (waitjob_is_asked())
        waitjob_ended(end->key, end->how, end->result);
    if (end->group.ptr != NULL)
        group_next(end->key.queue_id, end->group);
}

struct slice job_end_group(const PGresult *rows, int row, int col) {
    return row_null(rows, row, col) ? (struct slice){ NULL, 0 } : row_bytes(rows, row, col);
}
