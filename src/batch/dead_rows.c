/* Polls the number of dead rows that vacuum has left, for work that can wait until they are removed. */
#include "batch/dead_rows.h"

#include "batch/batch.h"
#include "batch/operations.h"

static struct {
    struct task task;
    bool known;
    int64_t jobs;
    int64_t counters;
} dead = { .task = { .op = &op_dead_rows, .rows = 1 } };

void dead_rows_ask(void) {
    batch_add_idle(&dead.task);
}

bool dead_rows_are_known(void) {
    return dead.known;
}

int64_t dead_rows_of_jobs(void) {
    return dead.jobs;
}

int64_t dead_rows_of_counters(void) {
    return dead.counters;
}

static void dead_rows_dead_done(struct task *t, const PGresult *rows) {
    (void)t;
    dead.known = true;
    dead.jobs = row_int8(rows, 0, COL_DEAD_ROWS_JOBS);
    dead.counters = row_int8(rows, 0, COL_DEAD_ROWS_COUNTERS);
}

OPERATION(dead_rows, .alone = true, .on_end = dead_rows_dead_done);
