#ifndef TXN_H
#define TXN_H

#include <stdbool.h>
#include <stddef.h>
#include "batch/client_txn.h"
#include "batch/commit_marker.h"
#include "batch/op.h"
#include "pg/db.h"

/* Builds transactions of queued tasks, and ends their tasks. For the modules of this folder. */

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
    bool is_heavy;                   /* it is the transaction of a heavy task: separate.h */
    struct op *contended;            /* the contended operation for which it was built, or NULL */
    bool checks;                     /* the statement is find_locked: it reads which jobs are locked */
    bool disk_full;                  /* it was lost because the disk of the database is full */
    const struct op_error *exceeded; /* it was lost after it had exceeded a bound: its error; or NULL */
    bool unsettled; /* tasks of lost transactions are queued: operations that take jobs are left out */
    bool marked;    /* after its parts it has the statement of a commit marker */
    struct commit_marker marker;
    bool at_work;    /* it was lost while the database executed it: see db_result */
    int64_t sent_us; /* clock_mono() */
    size_t bytes;    /* task_size() of its tasks */
    size_t rows;     /* of the parameters of its statements */
    size_t cost;     /* of its light statements: separate.h */
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
enum durability txn_durability(enum commit_kind kind);
/* Sets the durability of txn. Call it before the first statement. */
static inline void txn_set_commit(struct txn *txn, enum commit_kind kind) {
    db_set_durability(txn->db, txn_durability(kind));
}
/* Makes txn empty. */
void txn_clear_parts(struct txn *txn);
/* True if a task of that size keeps the transaction below OP_MAX_BYTES. An empty transaction takes any task. */
static inline bool txn_has_room(const struct txn *txn, size_t bytes) {
    return txn->bytes == 0 || txn->bytes + bytes <= OP_MAX_BYTES;
}
/* Appends statements for the first queued tasks of op, as many as there is room for, and at most the quota of
 * op. */
void txn_append_op(struct txn *txn, struct op *op);
/* Appends one statement with tasks[count], which are all of op. ct: their client transaction. */
void txn_append_statement(struct txn *txn, struct op *op, struct client_txn *ct, struct task *const *tasks,
                          size_t count);
/* The most rows of a statement of op. */
size_t txn_rows_most(const struct op *op);
/* Building a statement: begin, then for each task txn_statement_has_room() and txn_encode(), then txn_finish_statement(). */
struct params *txn_begin_statement(struct txn *txn, struct op *op);
bool txn_statement_has_room(const struct txn *txn, const struct params *p, const struct task *t);
void txn_encode(struct txn *txn, struct params *p, struct task *t,
                void (*encode_task)(struct params *p, struct task *t));
/* txn_begin_statement(), and txn_encode() for the first queued tasks of op: at least one, at most `most`. */
struct params *txn_encode_first(struct txn *txn, struct op *op, size_t most);
void txn_finish_statement(struct txn *txn, struct op *op, enum sql_stmt stmt,
                          void (*done)(struct task **tasks, size_t count, const PGresult *rows));
/* Makes t a sent task of the statement that is being built. */
void txn_append_task(struct txn *txn, struct task *t);
/* Called after the last statement. Appends the statement of the commit marker, if a task asked for it. */
void txn_finish(struct txn *txn);
/* The index of the task whose parameter rows include the one with this ordinal, from 1. count is at least 1. */
size_t txn_task_of_ordinal(struct task *const *tasks, size_t count, int32_t ordinal);
/* Gives the result of the part's statement to its operation, which ends the tasks. */
void txn_end_part(const struct part *part, const PGresult *rows);

#endif
