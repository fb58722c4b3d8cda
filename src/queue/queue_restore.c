/* Inserts the rows of queues, and sets the consume ends, that a promoted standby lacks. */
#include "queue/queue_restore.h"

#include "base/log.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "queue/queue.h"

static struct task restore = { .op = &op_restore_queues, .rows = 1 };

static bool is_any_open(void) {
    QUEUE_EACH(q) {
        if (q->id != 0)
            return true;
    }
    return false;
}

void queue_restore(void) {
    if (is_any_open())
        batch_add_idle(&restore);
}

static void restore_encode(struct params *p, struct task *t) {
    (void)t;
    QUEUE_EACH(q) {
        if (q->id == 0)
            continue;
        params_int4(p, 0, q->id);
        params_bytea(p, 1, q->name);
        params_int2(p, 2, (int16_t)q->pause);
        params_int2_or_null(p, 3, (int16_t)q->list.consume_end);
    }
}

/* If another queue has the id, jobs would appear in the wrong queue. Everything must be loaded again. */
static void restore_done(struct task *t, const PGresult *rows) {
    int restored = row_int4(rows, 0, COL_RESTORE_QUEUES_RESTORED),
        strange = row_int4(rows, 0, COL_RESTORE_QUEUES_STRANGE);

    (void)t;
    if (strange > 0)
        log_fatal("queue", "%d queues have other ids in the promoted database: start the server again",
                  strange);
    if (restored > 0)
        log_warning("queue",
                    "the promoted standby lacked %d queues: it had not received the last commits, and their "
                    "jobs are lost",
                    restored);
}

static void restore_fail(struct task *t, const struct op_error *err) {
    (void)t;
    log_warning("queue", "cannot compare the queues with the promoted database: %s (SQLSTATE %s)",
                err->message, err->sqlstate);
}

OPERATION(restore_queues, .alone = true, .encode = restore_encode, .on_end = restore_done,
          .fail = restore_fail);
