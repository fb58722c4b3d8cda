#ifndef BATCH_IMPL_H
#define BATCH_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include "batch/bundle.h"
#include "batch/op.h"
#include "pg/db.h"

/* How flights are put together: for batch.c, and bundle.c, whose flights are transactions of clients. */

struct part {
    struct op *op;
    struct bundle *bundle; /* whose tasks these are, in a flight of bundles */
    void (*done)(struct task **tasks, size_t count, const PGresult *rows);
    struct task **tasks; /* into the flight's array, set when it is complete */
    size_t count;
};

/* Statements and whose tasks they are. */
struct flight {
    struct db_lane *db;
    bool bundled;
    struct op *contended; /* the operation of the only statement, for which it was made; or NULL */
    bool checks;          /* the statement only tells which jobs are locked */
    bool disk_full;       /* lost because of that */
    bool unsettled;       /* tasks of lost transactions wait: it takes no jobs */
    bool at_work;         /* lost while the database executed it: see db_result */
    size_t bytes;         /* of its tasks, about */
    /* Of the tasks that wait and whose operations spread: for how many it has seats. */
    size_t seats;
    size_t of;
    size_t spread_count; /* how many it took */
    struct part parts[DB_MAX_STATEMENTS];
    size_t part_count;
    struct task **tasks;
    size_t task_count;
    size_t task_cap;
};

/* When a commit of the kind counts as done. */
enum durability batch_durability(enum commit_kind kind);
/* A statement of tasks[count], all of op. */
void batch_statement(struct flight *f, struct op *op, struct bundle *b, struct task *const *tasks,
                     size_t count);
/* The statements of those operations that go with every flight (COMMIT_ANY). */
void batch_companions(struct flight *f);
/* May the flight take a task of that size as well? */
static inline bool flight_has_room(const struct flight *f, size_t bytes) {
    return f->bytes == 0 || f->bytes + bytes <= OP_MAX_BYTES;
}
/* So often a task, or a transaction of a client, is sent that was alone in each of the flights that were lost. */
#define LOST_ALONE_MOST 4
/* True, and logged, when that is reached. what: for the log. */
bool batch_lost_too_often(const char *what, uint8_t lost_alone);
extern const struct op_error batch_lost_error;
/* The part's tasks end by done(). */
void batch_part_done(const struct part *part, const PGresult *rows);
/* A statement, task by task. */
struct params *batch_begin(struct flight *f, struct op *op);
bool batch_has_room(const struct flight *f, const struct params *p, const struct task *t);
void batch_encode(struct flight *f, struct params *p, struct task *t,
                  void (*encode_task)(struct params *p, struct task *t));
void batch_finish(struct flight *f, struct op *op, enum sql_stmt stmt,
                  void (*done)(struct task **tasks, size_t count, const PGresult *rows));

/* t waits again, as its operation says, in front of others. */
void batch_send_again(struct task *t, bool unknown);
/* t waits in its operation's queue, before that node of it. */
void batch_requeue(struct task *t, struct list *before);
/* t waits in its operation's queue no longer. */
void batch_dequeue(struct task *t);
/* t has not failed yet, nor was it lost. */
void batch_reset(struct task *t);
/* May the error pass by itself? */
bool batch_is_transient(const char *sqlstate);
/* So many tasks in bundles wait more, or less. */
void batch_count_bundled(long change);

#endif
