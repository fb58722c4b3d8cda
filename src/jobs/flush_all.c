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

/* Two transactions. The second one also clears the queues in memory, so that their rows are read again. Then the client
 * has its reply. */
void flush_all_start(struct req *r) {
    batch_add_row(&r->task, &op_unpause_all);
}

static void unpause_done(struct task *t, const PGresult *rows) {
    (void)rows;
    batch_add_row(t, &op_flush_all);
}

OPERATION(unpause_all, .alone = true, .on_end = unpause_done, .fail = req_fail_task);

void flush_all_note(void) {
    log_warning("admin", "all jobs were removed by a client");
    lease_clear();
    queue_clear();
    /* Peers may still send changes from before the flush. They are added to the new counters, so these are suspect. */
    if (node_has_peers())
        queue_suspect_all();
    waiters_end_all(NULL);
    waitjob_look_all();
    expire_reset_scan();
}

static void flush_done(struct task *t, const PGresult *rows) {
    (void)rows;
    flush_all_note();
    queue_announced |= ANNOUNCE_FLUSHED;
    req_ok(REQ_OF_TASK(t));
}

OPERATION(flush_all, .alone = true, .on_end = flush_done, .fail = req_fail_task);
