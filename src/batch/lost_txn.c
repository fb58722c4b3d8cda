/* Lost transactions: their tasks are sent again, end as committed, or are given up. */
#include "batch/lost_txn.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/util.h"
#include "batch/repeat.h"
#include "batch/task_queue.h"

/* Lost transactions whose commit markers are being read. */
static size_t asked_txns;

void lost_txns_init(void) {
    asked_txns = 0;
}

size_t lost_txns_asked(void) {
    return asked_txns;
}

static const struct op_error disk_full_error = { OP_DISK_FULL, "the disk of the database is full" };
const struct op_error batch_lost_error = {
    OP_LOST, "the database ended the session each time that it executed this alone"
};

bool batch_lost_too_often(const char *what, uint8_t lost_alone) {
    if (lost_alone < LOST_ALONE_MOST)
        return false;
    log_warning(
        "batch",
        "%s: the database ended the session each of the %d times that it executed this alone. It is given "
        "up. The log of the database tells why",
        what, LOST_ALONE_MOST);
    return true;
}

void batch_answer_lost(struct task *t) {
    static const struct op_error error = { OP_RESULT_LOST,
                                           "it was done, but the answer was lost with the connection" };

    task_reset(t);
    if (t->op->answer_lost != NULL)
        t->op->answer_lost(t);
    else
        task_fail(t, &error);
}

/* The tasks of a lost transaction that asked for its commit marker, in their order. Their state is TASK_SENT until
 * the marker is read. */
struct lost_txn {
    struct lost_task lost;
    struct list tasks;
};

static void on_lost_txn_known(struct lost_task *lost, enum commit_fate fate) {
    struct lost_txn *l = CONTAINER_OF(lost, struct lost_txn, lost);

    asked_txns--;
    while (!list_empty(&l->tasks)) {
        struct list *node = fate == COMMIT_DONE ? l->tasks.next : l->tasks.prev;
        struct task *t = task_of_node(node);

        list_remove(node);
        t->unsettled = fate == COMMIT_UNKNOWN;
        if (fate == COMMIT_DONE)
            batch_answer_lost(t);
        else if (fate == COMMIT_UNDONE)
            task_queue_push_front(t);
        else
            repeat_send(t, true);
    }
    free(l);
}

static struct lost_txn *lost_txn_new(const struct txn *txn) {
    struct lost_txn *l = xcalloc(1, sizeof *l);

    l->lost.txn = txn->marker.txn;
    l->lost.on_known = on_lost_txn_known;
    list_init(&l->tasks);
    return l;
}

static void lost_txn_ask(struct lost_txn *l) {
    if (list_empty(&l->tasks)) {
        free(l);
        return;
    }
    asked_txns++;
    commit_marker_ask(&l->lost);
}

/* A marked task undoes at once the preparations for its first try. */
static void send_lost_again(struct lost_txn *l, struct task *t) {
    t->unsettled = true;
    if (!t->marked) {
        repeat_send(t, true);
    } else if (repeat_prepare(t, false)) {
        t->state = TASK_SENT;
        list_push_front(&l->tasks, &t->turn.node);
    }
}

/* A task of the transaction may have crashed the database. After a second loss, a task is sent with half as
 * many others. It is given up after LOST_ALONE_MOST losses alone. */
static void batch_note_lost(const struct txn *txn, struct lost_txn *l, struct task *t, size_t group_size,
                            bool alone) {
    t->lost++;
    t->lost_alone += alone;
    if (batch_lost_too_often(t->op->name, t->lost_alone)) {
        task_give_up(t, txn->disk_full ? &disk_full_error : &batch_lost_error);
        return;
    }
    if (t->lost > 1)
        t->group_size = (uint32_t)(group_size > 1 ? group_size / 2 : 1);
    send_lost_again(l, t);
}

static void lost_part(const struct txn *txn, struct lost_txn *l, const struct part *part) {
    for (size_t k = part->count; k-- > 0;) {
        if (txn->checks)
            repeat_send(part->tasks[k], false);
        else if (txn->at_work)
            batch_note_lost(txn, l, part->tasks[k], part->count, txn->task_count == 1);
        else
            send_lost_again(l, part->tasks[k]);
    }
}

void txn_lost(struct txn *txn) {
    struct lost_txn *l;

    if (txn->marked)
        commit_marker_end(&txn->marker);
    if (txn->is_client_txn) {
        client_txns_lost(txn);
        return;
    }
    l = lost_txn_new(txn);
    for (size_t i = txn->part_count; i-- > 0;)
        lost_part(txn, l, &txn->parts[i]);
    lost_txn_ask(l);
}
