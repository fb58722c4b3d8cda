/* UNLOCK: frees a unique key. */
#include "base/clock.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "jobs/add_options.h"
#include "net/usage.h"
#include "queue/queue.h"

static void unlock_begin(struct params *p) {
    params_set_time(p, 2, clock_db());
}

static void unlock_encode(struct params *p, struct task *t) {
    const struct req *r = REQ_OF_TASK(t);
    const struct queue *q = r->data;

    params_int4(p, 0, q->id);
    params_bytea(p, 1, r->argv[2]);
}

static void unlock_end(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);

    ((struct queue *)r->data)->users--;
    req_int(r, row_bool(rows, (int)t->first_row, COL_UNLOCK_KEYS_WAS_TAKEN));
}

static void unlock_fail(struct task *t, const struct op_error *err) {
    ((struct queue *)REQ_OF_TASK(t)->data)->users--;
    req_db_error(REQ_OF_TASK(t), err);
}

/* A second try after a lost connection may find that the first try has freed the key. It replies 0 then. */
OPERATION(unlock_keys, .begin = unlock_begin, .encode = unlock_encode, .on_end = unlock_end,
          .fail = unlock_fail);

void cmd_unlock(struct req *r) {
    struct queue *q = queue_find(r->argv[1]);

    if (r->argv[2].len < 1 || r->argv[2].len > UNIQUE_MAX) {
        usage_invalid(r, 2, UNIQUE_ERROR);
        return;
    }
    if (q == NULL || q->id == 0) {
        req_int(r, 0);
        return;
    }
    q->users++;
    r->data = q;
    r->task.bytes = r->argv[2].len;
    batch_add_row(&r->task, &op_unlock_keys);
}
