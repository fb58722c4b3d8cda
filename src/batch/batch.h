#ifndef BATCH_H
#define BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include "batch/op.h"
#include "pg/db.h"

/*
 * Natural batching: the tasks of one operation, from all clients, become one statement. The statements of a
 * turn become one transaction. No timer is involved: the batch is sent at the end of the turn if a connection
 * is free. Otherwise more tasks join it until a connection is free.
 *
 * If a statement fails, its tasks are sent again in halves, quarters and so on, until only the faulty tasks
 * fail. These transactions take turns with ordinary transactions, and with transactions that commit in another
 * way (op.commit).
 *
 * If a connection is lost, its unfinished tasks are sent again. op.again prepares a task for that.
 */

/* ops: all operations in the order of their statements in a transaction, ended by NULL. plan is called
 * before an ordinary transaction of the write connection is built, and may add tasks. */
void batch_init(struct op *const *ops, void (*plan)(void));
/* Opens the write connection (CONN_WRITE) and the read connection (CONN_READ). Claims and other changes have
 * only one write connection, so that the results about a queue arrive in the order of the commits. The
 * connection for large requests (CONN_LARGE) opens for its first task. Its operations add jobs, or move the
 * queued jobs of a queue without claims, and call queue_note_apart(). The connection for long reads (CONN_LONG) opens for
 * the first heavy read, which reads the leases at the start: separate.h. */
void batch_start(void);
void batch_stop(void);

/* Queues t, which is neither queued nor sent. The caller has set t->op, rows and bytes; rows is not 0. */
void batch_add(struct task *t);
/* Removes t from its queue if it has not been sent. False if t is not queued. */
bool batch_cancel(struct task *t);
/* Like batch_cancel(), for a task whose request ends without being executed; then the caller calls
 * op.fail(). Also false for a task of a client transaction, for a task that other requests share, and for a task that
 * was sent before. */
bool batch_withdraw(struct task *t);
/* Queues t as a task of op with one row. */
static inline void batch_add_row(struct task *t, struct op *op) {
    t->op = op;
    t->rows = 1;
    batch_add(t);
}
/* Queues t unless it is queued or sent already. For a task that the server itself repeats. */
static inline void batch_add_idle(struct task *t) {
    if (t->state == TASK_IDLE)
        batch_add(t);
}
/* Sends t, a read over CONN_LONG, in a still moment: no transaction of CONN_WRITE or CONN_LARGE is under way, and none
 * begins until the database has taken the snapshot of t. So t reads exactly the changes whose tasks have ended.
 * op.begin() is called in that moment. One task can wait for it. If CONN_LONG cannot be connected, t is sent over
 * CONN_READ, and the other two wait until t has ended. on_missed() is called if the snapshot is late: transactions begin
 * again, and t may read their changes. */
void batch_add_still(struct task *t, void (*on_missed)(void));
/* op.on_end and op.fail of a task at the beginning of memory of its own: free it. */
void task_free(struct task *t, const PGresult *rows);
void task_free_failed(struct task *t, const struct op_error *err);
/* Called at the end of a turn. Builds transactions and sends them on the connections that are free. */
void batch_flush(void);

/* True if a divided task continues: the next turn must not wait for events. */
bool batch_pending(void);

/* True if CONN_LONG was needed for some seconds, and could not be connected. */
bool batch_lacks_long_reads(void);
/* True if a connection of this kind is established. */
bool batch_connected(enum conn_kind kind);
/* True if no task is queued and no transaction is sent but not ended. Sent long reads do not count, because they change
 * nothing, and may take long. */
bool batch_idle(void);

#endif
