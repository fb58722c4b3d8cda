#ifndef BATCH_H
#define BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include "batch/op.h"
#include "pg/db.h"

/*
 * Natural batching: tasks of one operation, from all clients, become one
 * statement; the statements of a turn become one flight. Nothing waits for a
 * timer: what has gathered is sent at the turn's end when a lane is free, and
 * gathers on while none is.
 *
 * When a flight fails, the tasks of the statement that failed are sent again in
 * halves, quarters and so on, so that only those at fault fail; these flights,
 * those of operations that commit in another way (op.commit), and those of all
 * others take turns.
 * When a connection dies, what was under way is sent again, each operation
 * knowing what that takes (op.again).
 */

/* ops in the order in which their statements stand in a flight; NULL ends them.
 * plan is called before a hot flight is built and may add tasks. */
void batch_init(struct op *const *ops, void (*plan)(void));
/* The hot lane and the side lane; both connect at once. There is one hot lane, so that
 * what the server knows of its queues follows the order of the commits. */
void batch_start(void);
void batch_stop(void);

/* Queues t; t->op, rows and bytes are set. */
void batch_add(struct task *t);
/* Takes t back if it has not been sent; false when it is under way. */
bool batch_cancel(struct task *t);
/* The same for a task whose request is to end without being done: by op.fail(), which the caller calls. False also for
 * a task of a transaction, and one that has been sent before. */
bool batch_withdraw(struct task *t);
/* End of turn: builds and sends flights on the lanes that are free. */
void batch_flush(void);

/* Is any lane of the kind connected? */
bool batch_connected(enum lane_kind kind);
/* Nothing queued and nothing under way. */
bool batch_idle(void);

#endif
