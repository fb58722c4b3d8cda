/* The rows of servers in the database. */
#include "cluster/node_row.h"

#include "batch/batch.h"
#include "batch/operations.h"
#include "cluster/outbox.h"

static void self_begin(struct params *p) {
    params_set_text(p, 0, node_self()->id);
}

static void beat_begin(struct params *p) {
    self_begin(p);
    params_set_bool(p, 1, node_self()->leaving);
}

static bool forgotten;

bool node_row_is_forgotten(void) {
    bool was = forgotten;

    forgotten = false;
    return was;
}

/* Peers read the row after this message, which is sent when leaving has changed. */
static void beat_done(struct task *t, const PGresult *rows) {
    static bool told;

    (void)t;
    forgotten = PQntuples(rows) == 0;
    if (told != node_self()->leaving)
        outbox_note(OUTBOX_NODES);
    told = node_self()->leaving;
}

OPERATION(beat_node, .alone = true, .begin = beat_begin, .on_end = beat_done);

OPERATION(leave_node, .alone = true, .begin = self_begin);

void node_row_beat(void) {
    static struct task beat = { .op = &op_beat_node, .rows = 1 };

    batch_add_idle(&beat);
}

void node_row_leave(void) {
    static struct task leave = { .op = &op_leave_node, .rows = 1 };

    batch_add_idle(&leave);
}

/* ---- CLUSTER FORGET ---- */

static void node_row_forget_encode(struct params *p, struct task *t) {
    const struct node *n = REQ_OF_TASK(t)->data;

    params_set_text(p, 0, n->id);
}

static void node_row_forget_done(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);

    (void)rows;
    node_forget(r->data);
    outbox_note(OUTBOX_NODES);
    req_ok(r);
}

OPERATION(forget_node, .alone = true, .encode = node_row_forget_encode, .on_end = node_row_forget_done,
          .fail = req_fail_task);
