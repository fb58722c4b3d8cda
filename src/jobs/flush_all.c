/* Removal of all jobs: DEBUG FLUSHALL and CLUSTER RESET. */
#include "jobs/flush_all.h"

#include "base/log.h"
#include "base/node.h"
#include "batch/batch.h"
#include "batch/client_txn.h"
#include "batch/operations.h"
#include "jobs/expire.h"
#include "jobs/waitjob.h"
#include "queue/lease.h"
#include "queue/observer.h"
#include "queue/queue.h"
#include "queue/waiters.h"

/* Both statements, in one transaction: a reply means that no pause and no consume end is left either. */
struct flush {
    struct client_txn txn;
    struct task unpause;
    struct task *tasks[2];
};

/* The tasks end after it, and the request with the second one. */
static void flush_txn_ended(struct client_txn *ct, enum client_txn_end end, const struct op_error *error) {
    (void)ct;
    (void)end;
    (void)error;
}

void flush_all_start(struct req *r) {
    struct flush *f = req_alloc(r, sizeof *f);

    *f = (struct flush){
        .txn = { .turn.user = r->task.turn.user, .tasks = f->tasks, .count = 2, .on_end = flush_txn_ended },
        .tasks = { &f->unpause, &r->task },
    };
    task_init(&f->unpause, &op_unpause_all);
    r->task.op = &op_flush_all;
    r->task.rows = 1;
    f->unpause.client_txn = r->task.client_txn = &f->txn;
    client_txn_send(&f->txn);
}

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

static void flush_committed(struct task *t) {
    flush_all_note();
    queue_announced |= ANNOUNCE_FLUSHED;
    req_ok(REQ_OF_TASK(t));
}

static void flush_done(struct task *t, const PGresult *rows) {
    (void)rows;
    flush_committed(t);
}

OPERATION(unpause_all, .alone = true);

OPERATION(flush_all, .alone = true, .on_end = flush_done, .fail = req_fail_task,
          .answer_lost = flush_committed);
