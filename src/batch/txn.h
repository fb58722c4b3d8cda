#ifndef TXN_H
#define TXN_H

#include <stdbool.h>
#include <stddef.h>
#include "batch/client_txn.h"
#include "batch/commit_marker.h"
#include "batch/op.h"
#include "pg/db.h"

/* Transactions, and how batch.c builds them, sends them again and ends their tasks. For the modules of this folder. */

struct part {
    struct op *op;
    struct client_txn *client_txn; /* the client transaction of the tasks, or NULL */
    void (*done)(struct task **tasks, size_t count, const PGresult *rows);
    struct task **tasks; /* points into the tasks of the transaction; set when that array is complete */
    size_t count;
};

/* A transaction: its statements, and the tasks of each statement (parts). */
struct txn {
    struct db_conn *db;
    bool is_client_txn;
    struct op *contended; /* the contended operation for which it was built, or NULL */
    bool checks;          /* the statement is find_locked: it reads which jobs are locked */
    bool disk_full;       /* it was lost because the disk of the database is full */
    bool unsettled;       /* tasks of lost transactions are queued: operations that take jobs are left out */
    bool marked;          /* after its parts it has the statement of a commit marker */
    struct commit_marker marker;
    bool at_work;    /* it was lost while the database executed it: see db_result */
    int64_t sent_us; /* clock_mono() */
    size_t bytes;    /* task_size() of its tasks */
    /* It takes the fraction quota/of of the queued tasks of splittable operations. */
    size_t quota;
    size_t of;
    size_t splittable_count; /* how many such tasks it took */
    size_t next_row;         /* of a divided task: the first row that is not sent */
    struct part parts[DB_MAX_STATEMENTS];
    size_t part_count;
    struct task **tasks;
    size_t task_count;
    size_t task_cap;
};

/* The durability of commits of this kind. */
enum durability batch_durability(enum commit_kind kind);
/* Appends one statement with tasks[count], which are all of op. b: their client transaction. */
void batch_statement(struct txn *f, struct op *op, struct client_txn *b, struct task *const *tasks,
                     size_t count);
/* True if a task of that size keeps the transaction below OP_MAX_BYTES. An empty transaction takes any task. */
static inline bool txn_has_room(const struct txn *f, size_t bytes) {
    return f->bytes == 0 || f->bytes + bytes <= OP_MAX_BYTES;
}
/* Gives the result of the part's statement to its operation, which ends the tasks. */
void batch_part_done(const struct part *part, const PGresult *rows);
/* Building a statement: begin, then for each task batch_has_room() and batch_encode(), then batch_finish(). */
struct params *batch_begin(struct txn *f, struct op *op);
bool batch_has_room(const struct txn *f, const struct params *p, const struct task *t);
void batch_encode(struct txn *f, struct params *p, struct task *t,
                  void (*encode_task)(struct params *p, struct task *t));
void batch_finish(struct txn *f, struct op *op, enum sql_stmt stmt,
                  void (*done)(struct task **tasks, size_t count, const PGresult *rows));

/* Queues t in front of its operation's queue, after op.again has prepared it. unknown: as for op.again. */
void batch_send_again(struct task *t, bool unknown);
/* Makes t idle and prepares it for another try by op.again. False if op.again has ended it. */
bool batch_prepare_again(struct task *t, bool unknown);
/* Queues the prepared t in front of its operation's queue, or of the suspects if it has failed or was lost. */
void batch_send_in_front(struct task *t);
/* Queues t in its operation's queue, before the list node `before`. */
void batch_requeue(struct task *t, struct list *before);
/* Removes t from its operation's queue. */
void batch_dequeue(struct task *t);
/* Makes t idle, and clears its failures and losses. */
void batch_reset(struct task *t);
/* Ends t by the fail() of its operation, if that has one. */
void batch_fail(struct task *t, const struct op_error *error);
/* True if a repetition may succeed: errors of classes 40, 55 and 57. */
bool batch_is_transient(const char *sqlstate);
/* Adds change to the number of queued tasks of client transactions. */
void batch_count_bundled(long change);

#endif
