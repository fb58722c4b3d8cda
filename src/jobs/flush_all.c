/* Removal of all jobs: DEBUG FLUSHALL and CLUSTER RESET. */
#include "jobs/flush_all.h"

#include "base/log.h"
#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/expire.h"
#include "jobs/waitjob.h"
#include "queue/lease.h"
#include "queue/observer.h"
#include "queue/queue.h"
#include "queue/waiters.h"

static struct task unpause = { .op = &op_unpause_all, .rows = 1 };

void admin_flush_all(struct req *r) {
    r->task.op = &op_flush_all;
    r->task.rows = 1;
    batch_add(&r->task);
    if (unpause.state == TASK_IDLE)
        batch_add(&unpause);
}

void admin_flushed(void) {
    log_warning("admin", "all jobs were removed by a client");
    lease_clear();
    queue_clear();
    /* Peers may still send changes from before the flush. They are added to the new counters, so these are suspect. */
    if (node_has_peers())
        queue_suspect_all();
    waiters_end_all(NULL);
    waitjob_look_all();
    expiry_reset_scan();
}

static void flush_done(struct task **tasks, size_t count, const PGresult *rows) {
    (void)count;
    (void)rows;
    admin_flushed();
    queue_announced |= ANNOUNCE_FLUSHED;
    req_ok(REQ_OF_TASK(tasks[0]));
}

static void flush_fail(struct task *t, const struct op_error *err) {
    req_db_error(REQ_OF_TASK(t), err);
}

OPERATION(flush_all, .alone = true, .done = flush_done, .fail = flush_fail);

OPERATION(unpause_all, .alone = true);
