/* Writes the names of workers into the rows of jobs that they have had for a while. */
#include "jobs/worker_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/row_places.h"
#include "queue/lease.h"

/* Rows of one statement, and statements in a tenth of a second. More names wait, so that they do not delay job
 * statements. */
#define NAMES_PAGE 100
#define MOST_PAGES 2

struct worker_names_named {
    struct job_key key;
    int64_t row_until_us;
    char name[WORKER_NAME_MAX + 1];
};

struct naming {
    struct task task;
    size_t count;
    struct worker_names_named jobs[NAMES_PAGE];
};

static void see(void *arg, struct job_key key, int64_t row_until_us, const char *name) {
    struct naming *n = arg;
    struct worker_names_named *job = &n->jobs[n->count++];

    job->key = key;
    job->row_until_us = row_until_us;
    memcpy(job->name, name, strlen(name) + 1);
}

/* False if all names have been written. */
static bool write_page(void) {
    struct naming *n = xmalloc(sizeof *n);

    n->task = (struct task){ .op = &op_name_workers };
    n->count = 0;
    fair_node_init(&n->task.turn);
    if (lease_write_names(NAMES_PAGE, see, n) == 0) {
        free(n);
        return false;
    }
    n->task.rows = (uint32_t)n->count;
    batch_add(&n->task);
    return n->count == NAMES_PAGE;
}

void worker_rows_write(void) {
    for (int pages = 0; pages < MOST_PAGES; pages++)
        if (!write_page())
            break;
}

static void name_begin(struct params *p) {
    params_set_int2(p, 5, (int16_t)node_self()->number);
}

static void name_encode(struct params *p, struct task *t) {
    const struct naming *n = CONTAINER_OF(t, struct naming, task);

    for (size_t i = 0; i < n->count; i++) {
        const struct worker_names_named *job = &n->jobs[i];

        row_places_forget(job->key.id);
        params_key(p, 0, job->key);
        params_time(p, 3, job->row_until_us);
        params_bytea(p, 4, slice_str(job->name));
    }
}

/* No client waits for the names, so the commit does not wait for a disk or a standby. */
OPERATION(name_workers, .commit = COMMIT_ASYNC, .begin = name_begin, .encode = name_encode,
          .on_end = task_free, .fail = task_free_failed);
