#ifndef OP_H
#define OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "base/list.h"
#include "pg/db.h"
#include "pg/params.h"
#include "sql_gen.h"

/*
 * An operation is one set-based statement and the functions that turn tasks
 * into its rows and its result into their ends. A task is one caller's share:
 * one ADDJOB, the 32 IDs of one ACKJOB, one claim of a queue. Tasks of one
 * operation that wait at the turn's end travel as one statement.
 *
 * Every task ends exactly once: by done() when its transaction is committed, by
 * fail() when it is certain that it never will be, or by again() giving it up.
 */
struct task;
struct bundle;

/* Whose flights an operation's tasks travel in. */
enum commit_kind {
    COMMIT_ORDINARY,   /* with all others: durable as configured */
    COMMIT_ASYNC,      /* with each other: nobody waits for the flush */
    COMMIT_REPLICATED, /* with each other: durable on the standbys, whatever is configured */
    COMMIT_ANY,        /* with those for whom they were made while the flight was built */
};

/* Most bytes of a task, and of all statements of a flight. Postgres takes no message and makes no array of 1 GB,
 * and libpq no more than 2 GB of two flights. */
#define OP_MAX_BYTES ((size_t)768 * 1024 * 1024)
/* More than a row takes besides the task's bytes. */
#define OP_ROW_BYTES 256

/* Failures that this server has found, and not the database. */
#define OP_TOO_LARGE "PD001" /* more than OP_MAX_BYTES: it was not sent */
#define OP_DISK_FULL "53100" /* the database's own */
#define OP_LOST "PD002"      /* each time that it was executed alone the session ended */

/* What tasks have in common that may share an alike statement: equal bit by bit. */
struct op_shape {
    int64_t a;
    int64_t b;
};

/* A cheaper form of an operation's statement, for tasks of one shape. It takes what the
 * tasks have in common as scalars, and only the rest as arrays. */
struct op_alike {
    enum sql_stmt stmt;
    /* The shape of t; false when it needs the general statement. */
    bool (*shape)(const struct task *t, struct op_shape *shape);
    /* Sets the scalar parameters; first is the first task, not yet encoded. */
    void (*begin)(struct params *p, struct task *first);
    /* Decides whatever depends on the order of the tasks. Called for each task of the flight, the oldest first,
     * before the statements are made. NULL: there is nothing to decide. */
    void (*decide)(struct task *t);
    void (*encode)(struct params *p, struct task *t);
    void (*done)(struct task **tasks, size_t count, const PGresult *rows);
};

/* An operation whose statement needs what another session has locked: see contention.h. */
struct contention {
    bool on;
    size_t width;      /* tasks that are tried in one statement */
    unsigned fails;    /* tasks that failed alone, one after the other */
    size_t blocked;    /* tasks of the queue that have waited in vain */
    int64_t resume_us; /* clock_mono(): none is tried before */
};

struct op {
    const char *name; /* for INFO and logs */
    enum sql_stmt stmt;
    enum lane_kind lane;
    enum commit_kind commit;
    bool alone;  /* every task is a statement of its own */
    size_t most; /* such statements in one flight; 0: some */
    /* Its tasks may be spread over two flights: no other operation's rely on their order. */
    bool spreads;
    /* In a transaction, tasks that follow each other are one statement: they do not mind each other. */
    bool shares;
    /* It takes jobs: it waits until the tasks of lost transactions are sent again, because those may have changed
     * the same jobs already. */
    bool takes;
    /* The first three columns of its statement are keys of rows of pgdisque.job, which it locks. */
    bool names_jobs;
    const struct op_alike *alike; /* NULL: there is only the general statement */
    /* Sets the scalar parameters; NULL when there are none. */
    void (*begin)(struct params *p);
    /* Appends the rows of t (at least one) to the statement's parameters. */
    void (*encode)(struct params *p, struct task *t);
    /* Committed: rows is the statement's result, shared by the tasks[count] of
     * the statement, in the order in which they were encoded. All results of a
     * flight live until the done() of its last statement has returned. */
    void (*done)(struct task **tasks, size_t count, const PGresult *rows);
    /* Not committed, and it will not be repeated. */
    void (*fail)(struct task *t, const struct op_error *err);
    /* The flight failed or its connection died, and t is about to be sent again:
     * prepares t for that (it may change t->op). unknown: the first try may have
     * been committed. False when t was ended or given up here instead. NULL: t is
     * simply sent again. */
    bool (*again)(struct task *t, bool unknown);
    /* Of a transaction (bundle.h): committed, but the result is lost. Ends t by what else is known. NULL: it
     * ends by fail(), which has nothing to undo. */
    void (*answer_lost)(struct task *t);
    /* Runtime part: tasks that wait, oldest first, and how many. Owned by batch.c. */
    struct list queue;
    size_t queued;
    struct contention contention; /* Owned by contention.c, but for the count. */
};

#define TASK_STATES(X)                                                      \
    X(TASK_IDLE, "idle")     /* not handed to the batch */                  \
    X(TASK_QUEUED, "queued") /* waits for the turn's end and a free lane */ \
    X(TASK_SENT, "sent")     /* in a flight */

enum task_state {
#define X(id, name) id,
    TASK_STATES(X)
#undef X
};

struct task {
    struct list node; /* in its operation's queue while queued */
    struct op *op;
    struct bundle *bundle; /* the transaction it is part of, or NULL; see bundle.h */
    enum task_state state;
    uint8_t failures;   /* how often its statement failed for a passing reason, */
    uint8_t lost;       /* and how often the session ended while its flight was executed, */
    uint8_t lost_alone; /* with no other task in it */
    bool unsettled;     /* a transaction with it was lost: it may have been committed */
    int64_t blocked_us; /* clock_mono() since which it waits for a lock of another session; 0: it does not */
    uint32_t company;   /* after a failure: how many may travel together; 0: any */
    uint32_t rows;      /* rows it adds to the statement */
    size_t bytes;       /* that they take; OP_ROW_BYTES each are not counted */
    size_t first_row;   /* of its rows in the statement, from 0; set before encode() */
};

/* As sent, or somewhat less. */
static inline size_t task_size(const struct task *t) {
    return t->bytes + (size_t)t->rows * OP_ROW_BYTES;
}

#endif
