#ifndef TASK_QUEUE_H
#define TASK_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/list.h"
#include "batch/op.h"

/*
 * Queued tasks. Each operation has a queue, in which users take turns (base/fair_list.h). Three kinds of tasks are apart:
 * heavy tasks (separate.h), the suspects, which are tasks of failed and lost transactions, and tasks that are too large
 * for a statement. For the modules of this folder.
 */

void task_queue_init(struct op *const *ops);
/* Queues t behind the tasks of its user: in its operation's queue, or among the heavy tasks. A task that is too large
 * fails at the end of the turn. */
void task_queue_add(struct task *t);
/* Queues t behind all tasks of its operation. */
void task_queue_add_last(struct task *t);
/* Queues t in front of its operation's queue, or of the heavy tasks, or of the suspects if its group_size is not 0. */
void task_queue_push_front(struct task *t);
/* The queued tasks of op that are not sent yet become heavy. */
void task_queue_make_heavy(struct op *op);
/* Removes t, which is idle then. */
void task_queue_remove(struct task *t);
/* The same for a task that is sent now. */
void task_queue_take(struct task *t);

/* The first operation at or after that place whose queue has tasks, or NULL. */
struct op *task_queue_next(size_t place);
#define TASK_QUEUE_EACH(op) \
    for (struct op *op = task_queue_next(0); op != NULL; op = task_queue_next(op->place + 1U))
static inline struct task *task_of_node(struct list *node) {
    return LIST_ENTRY(node, struct task, turn.node);
}
/* The first task of an operation whose queue is not empty. */
static inline struct task *task_queue_first(const struct op *op) {
    return task_of_node(op->queue.nodes.next);
}
/* The next heavy task of a connection, or NULL. */
struct task *task_queue_first_heavy(enum conn_kind kind);
/* The suspects of a connection, as nodes of tasks. Their statements have at most group_size tasks. */
struct list *task_queue_suspects(enum conn_kind kind);
/* Queued tasks of the operations of a connection, with heavy ones and those of client transactions. */
size_t task_queue_count(enum conn_kind kind);
/* Adds change to the number of queued tasks of client transactions. */
void task_queue_count_client_txns(long change);
/* True if there is neither a queued task nor a suspect. The tasks of client transactions are not looked at. */
bool task_queue_is_empty(void);
/* Called at the end of a turn. */
void task_queue_fail_too_large(void);

/* Makes t idle, and clears its failures, losses and reads. */
void task_reset(struct task *t);
/* Ends t by the fail() of its operation, if that has one. */
void task_fail(struct task *t, const struct op_error *error);
/* Does both. */
void task_give_up(struct task *t, const struct op_error *error);

#endif
