#ifndef OP_H
#define OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "base/fair_list.h"
#include "base/list.h"
#include "pg/db.h"
#include "pg/params.h"
#include "sql_gen.h"

/*
 * An operation is one SQL statement for a set of rows, and the functions that fill it and read its result. A
 * task is the share of one request: one ADDJOB, the 32 IDs of one ACKJOB, one claim of a queue. Tasks of one
 * operation that are queued at the end of the turn share a statement.
 *
 * Every task ends exactly once: by on_end() or done() after its transaction is committed, by answer_lost() if it is
 * committed and its result is lost, by fail() if it will not be repeated, or by again() if that returns false.
 */
struct task;
struct client_txn;

/* The phases of a transaction, in this order. A statement belongs to the phase of its operation. */
enum op_phase {
    PHASE_START,
    PHASE_QUEUE,
    PHASE_ADD,
    PHASE_LIST,
    PHASE_SCHEDULE,
    PHASE_ACK,
    PHASE_CHANGE,
    PHASE_EXPIRE,
    PHASE_LOAD,
    PHASE_TAKE,
    PHASE_READ,
    PHASE_UPKEEP,
};

/* Which tasks share a transaction, and the durability of its commit. */
enum commit_kind {
    COMMIT_ORDINARY,   /* shared by all such operations; durable as configured */
    COMMIT_ASYNC,      /* shared by all such operations; the commit does not wait for the flush */
    COMMIT_REPLICATED, /* shared by all such operations; durable on the standbys, whatever is configured */
};

/* Maximum bytes of a task, and of all statements of a transaction. Postgres refuses messages and arrays of 1
 * GB, and libpq buffers at most 2 GB, which two transactions share. */
#define OP_MAX_BYTES ((size_t)768 * 1024 * 1024)
/* Upper bound of the bytes that a row takes besides the task's bytes. */
#define OP_ROW_BYTES 256

/* SQLSTATEs of failures that this server makes, or that it must recognise. */
#define OP_TOO_LARGE "PD001" /* the task has more than OP_MAX_BYTES and was not sent */
#define OP_DISK_FULL DB_DISK_FULL
#define OP_LOCKED "55P03"      /* made by Postgres: another session holds a lock */
#define OP_KEY_TAKEN "23502"   /* made by Postgres for add_unique.sql: a null */
#define OP_RESULT_LOST "08007" /* the commit is known, its result is lost */
#define OP_NOT_ACKED "22012"   /* made by Postgres for retain_required.sql: division by zero */
/* Made by Postgres for add_in_flow.sql and open_batch.sql in a client transaction: logarithm of zero, root of a negative
 * number, no buckets. */
#define OP_NO_PREDECESSOR "2201E"
#define OP_NO_BATCH "2201F"
#define OP_TOO_DEEP "2201G"
#define OP_QUEUES_FULL "PD005" /* the queue needs a row, and queues_are_full() */
#define OP_LOST "PD002"        /* the session ended each time that the task was executed alone */

/* A uniform statement (struct op_alike), and the values that all its tasks have in common. They are compared bit by
 * bit. */
struct op_shape {
    enum sql_stmt stmt;
    int64_t a;
    int64_t b;
};

/* A cheaper variant of an operation's statement, for tasks of one shape. The common values are scalar
 * parameters. Only the other values are arrays. */
struct op_alike {
    /* It is used only if all tasks have one shape. A second statement would cost more than it saves. */
    bool is_for_all;
    /* Writes the shape of t. False if t needs the general statement. */
    bool (*shape)(const struct task *t, struct op_shape *shape);
    /* Sets the scalar parameters. first: the first task, not yet encoded. */
    void (*begin)(struct params *p, struct task *first);
    /* Makes the decisions that depend on the order of the tasks. Called for each task of the transaction,
     * the oldest first, before the statements are built. May be NULL. */
    void (*decide)(struct task *t);
    void (*encode)(struct params *p, struct task *t);
    /* NULL: the operation's on_row() and on_end() get the result. */
    void (*done)(struct task **tasks, size_t count, const PGresult *rows);
};

/* The state of an operation whose statement needs a row or table that another session has locked: see
 * contention.h. */
struct contention {
    bool on;
    size_t width;      /* maximum number of tasks in the next attempt */
    unsigned fails;    /* successive tasks that failed alone */
    size_t blocked;    /* queued tasks that have waited for a lock at least once */
    int64_t resume_us; /* clock_mono() of the next attempt */
};

struct op {
    const char *name; /* for INFO and logs */
    enum sql_stmt stmt;
    enum op_phase phase;
    enum conn_kind conn;
    enum commit_kind commit;
    bool alone;  /* each task is a statement of its own */
    size_t most; /* maximum number of such statements in one transaction; 0: width */
    /* Maximum number of rows of the tasks that share a statement; 0: the option batch-max. For statements whose rows are
     * expensive. */
    size_t rows_most;
    /* Its tasks may be divided between two transactions, because no other operation relies on their order. */
    bool splittable;
    /* In a client transaction, successive tasks share a statement, because they do not affect each other. */
    bool shares;
    /* With shares: the hash of a value that differs between the tasks of such a statement. May be NULL. */
    unsigned (*differs_by)(const struct task *t);
    bool heavy; /* its tasks are heavy (separate.h), whatever they read */
    /* It takes jobs. It waits until the tasks of lost transactions have been sent again, because these may
     * have changed the same jobs already. */
    bool takes;
    /* A heavy task must find its changes: separate.h. Its queued tasks are in front of such a task, in one transaction. */
    bool found_by_heavy;
    /* The first three parameters of its statement are keys of rows of pgdisque.job, which it locks. */
    bool names_jobs;
    const struct op_alike *alike; /* may be NULL */
    /* Sets the scalar parameters. May be NULL. */
    void (*begin)(struct params *p);
    /* Appends the rows of t, at least one, to the parameters of the statement. NULL: it has no arrays. */
    void (*encode)(struct params *p, struct task *t);
    /* For a large task, which gets a transaction of its own. Appends some rows of t, from that one on, and returns the
     * index of the next row. The others follow in further statements, in later turns. done() gets the result of the first
     * statement. NULL: the operation has no such tasks. */
    size_t (*encode_from)(struct params *p, struct task *t, size_t from);
    /*
     * The results of a committed transaction. All results live until the functions of its last statement have
     * returned. Each of these functions may be NULL.
     *
     * on_row() gets each row with its task. If tasks share the statement, the first column is the ordinal of the
     * parameter row that the row belongs to: task_row(). on_end() then ends each task, in the order of encoding. rows:
     * the result of the whole statement.
     */
    void (*on_row)(struct task *t, const PGresult *rows, int row);
    void (*on_end)(struct task *t, const PGresult *rows);
    /* In place of both: for all tasks[count] of the statement together. */
    void (*done)(struct task **tasks, size_t count, const PGresult *rows);
    /* May be NULL. The task will not be repeated. It is not committed. After OP_LOST, or in a client transaction whose
     * outcome or result is lost, that is unknown. */
    void (*fail)(struct task *t, const struct op_error *err);
    /* The transaction failed or was lost. Prepares t for being sent again; it may change t->op. unknown: the
     * transaction may have been committed, and no commit marker tells. False if t has ended. NULL: no
     * preparation is needed. */
    bool (*again)(struct task *t, bool unknown);
    /* The transaction has a commit marker for t, or is a client transaction (client_txn.h). It is committed, but
     * its results are lost. Ends t with what is known. NULL: t ends by fail(), which has nothing to undo. */
    void (*answer_lost)(struct task *t);
    /* Queued tasks, the next one first, and their number, without heavy tasks. Changed by task_queue.c only. */
    struct fair_list queue;
    size_t queued;
    uint16_t place; /* in the table of operations */
    /* Its tasks have separate transactions until then, clock_mono(). 0: never. Changed by separate.c. */
    int64_t failing_until_us;
    int64_t slow_until_us;
    uint8_t width;                /* if its statements may be slow: the most of them in a transaction */
    bool left_out;                /* a transaction had no room for such a statement */
    struct contention contention; /* changed by contention.c; task_queue.c counts `blocked`, too */
};

#define TASK_STATES(X)                                                                 \
    X(TASK_IDLE, "idle")     /* batch_add() was not called yet */                      \
    X(TASK_QUEUED, "queued") /* waits for the end of the turn and a free connection */ \
    X(TASK_SENT, "sent")     /* in a transaction that has not ended */

enum task_state {
#define X(id, name) id,
    TASK_STATES(X)
#undef X
};

struct task {
    struct fair_node turn; /* in a list of task_queue.h while TASK_QUEUED */
    struct op *op;
    struct client_txn *client_txn; /* its client transaction, or NULL; see client_txn.h */
    enum task_state state;
    uint8_t failures;   /* how often its statement failed for a transient reason */
    uint8_t lost;       /* how often the session ended while its transaction was executed */
    uint8_t lost_alone; /* the same, with no other task in it */
    bool unsettled;     /* its transaction was lost, and may have been committed */
    bool marked;        /* encode() asked for a commit marker of its transaction */
    bool heavy;         /* it gets a transaction of its own: separate.h */
    bool is_shared;     /* other requests end with it, so batch_withdraw() leaves it */
    /* clock_mono() since which it waits for a lock of another session; 0: it does not wait */
    int64_t blocked_us;
    uint32_t group_size; /* for a suspect: maximum number of tasks in its next statement; 0: no suspect */
    uint32_t rows;       /* rows that it adds to the statement */
    /* About how many further rows the statement reads or changes: task_reads(). The end of the task clears it. */
    uint32_t reads;
    size_t bytes;     /* bytes of these rows, without OP_ROW_BYTES for each */
    size_t first_row; /* index of its first row in the statement, set before encode() */
};

/* Prepares a task of one row for its first batch_add(). */
static inline void task_init(struct task *t, struct op *op) {
    t->op = op;
    t->rows = 1;
    fair_node_init(&t->turn);
}

/* For task_reads(): the number is unknown and may be large. */
#define TASK_READS_MANY 1024
#define TASK_CHANGED_ROW 4
#define TASK_READS_MOST (1u << 20)

/* Sets the number of rows that the statement which batch_add() queues next reads or changes besides t->rows. A row takes
 * one or two microseconds. So a row of n * OP_ROW_BYTES counts n times, a row that is only skipped counts a quarter, and a
 * row that is changed counts four times. */
static inline void task_reads(struct task *t, int64_t rows) {
    t->reads = rows < 0 ? 0 : rows < TASK_READS_MOST ? (uint32_t)rows : TASK_READS_MOST;
}

/* The work of its statement, in rows. */
static inline size_t task_cost(const struct task *t) {
    return (size_t)t->rows + t->reads;
}

/* Which row of its task a row of the result belongs to, from 0 on. The first column is the ordinal. */
static inline size_t task_row(const struct task *t, const PGresult *rows, int row) {
    return (size_t)row_int4(rows, row, 0) - 1 - t->first_row;
}

/* About the bytes that the task adds to the statement. */
static inline size_t task_size(const struct task *t) {
    return t->bytes + (size_t)t->rows * OP_ROW_BYTES;
}

#endif
