/* The rows of servers in the database. */
#include "cluster/node_row.h"

#include "batch/batch.h"
#include "batch/operations.h"
#include "cluster/outbox.h"

static void self_encode(struct params *p, struct task *t) {
    (void)t;
    params_set_text(p, 0, node_self()->id);
}

static void beat_encode(struct params *p, struct task *t) {
    self_encode(p, t);
    params_set_bool(p, 1, node_self()->leaving);
}

static bool forgotten;

bool node_row_is_forgotten(void) {
    bool was = forgotten;

    forgotten = false;
    return was;
}

/* Peers read the row after this message, which is sent when leaving has changed. */
static void beat_done(struct task **tasks, size_t count, const PGresult *rows) {
    static bool told;

    (void)tasks;
    (void)count;
    forgotten = PQntuples(rows) == 0;
    if (told != node_self()->leaving)
        outbox_note(OUTBOX_NODES);
    told = node_self()->leaving;
}

OPERATION(beat_node, .alone = true, .encode = beat_encode, .done = beat_done);

OPERATION(leave_node, .alone = true, .encode = self_encode);

static void once(struct task *t) {
    if (t->state == TASK_IDLE)
        batch_add(t);
}

void node_row_beat(void) {
    static struct task beat = { .op = &op_beat_node, .rows = 1 };

    once(&beat);
}

void node_row_leave(void) {
    static struct task leave = { .op = &op_leave_node, .rows = 1 };

    once(&leave);
}

/* ---- CLUSTER FORGET ---- */

static void node_row_forget_encode(struct params *p, struct task *t) {
    const struct node *n = REQ_OF_TASK(t)->data;

    params_set_text(p, 0, n->id);
}

static void node_row_forget_done(struct task **tasks, size_t count, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(tasks[0]);

    (void)count;
    (void)rows;
    node_forget(r->data);
    outbox_note(OUTBOX_NODES);
    req_ok(r);
}

static void node_row_forget_fail(struct task *t, const struct op_error *err) {
    req_db_error(REQ_OF_TASK(t), err);
}

OPERATION(forget_node, .alone = true, .encode = node_row_forget_encode, .done = node_row_forget_done,
          .fail = node_row_forget_fail);
