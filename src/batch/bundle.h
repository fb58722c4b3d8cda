#ifndef BUNDLE_H
#define BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "base/list.h"
#include "batch/flight_mark.h"
#include "batch/op.h"

/*
 * Tasks that are committed together or not at all, and in their order: the commands between MULTI and EXEC.
 *
 * A task with a bundle joins that when it is handed to batch_add(). When its owner has all that he waits for,
 * bundle_send() makes statements of them, in the order of tasks[]; those that follow each other, and whose
 * operation permits it (op.shares), are one statement. Bundles travel in flights of their own, several in one,
 * each with a mark (flight_mark.h): when the connection dies, the database is asked whether that was committed.
 */
enum bundle_end {
    BUNDLE_COMMITTED,    /* the tasks end by done() */
    BUNDLE_ANSWERS_LOST, /* committed, but nobody knows what the statements said: by answer_lost() */
    BUNDLE_REFUSED,      /* nothing was done, because of the error: by fail() */
    BUNDLE_UNKNOWN, /* perhaps all was done and perhaps nothing, and the database does not say: by fail() */
};

struct bundle {
    /* The owner's. */
    struct task **tasks;
    size_t count;
    enum commit_kind commit; /* COMMIT_ORDINARY or COMMIT_REPLICATED */
    bool ahead;              /* jobs come to stand ahead of where claims look */
    void (*on_joined)(struct bundle *b);
    /* Called once, before its tasks end one by one. error: of BUNDLE_REFUSED and BUNDLE_UNKNOWN. With the
     * last task the bundle may go. */
    void (*on_end)(struct bundle *b, enum bundle_end end, const struct op_error *error);
    /* Private. */
    struct list node; /* among those that wait */
    uint8_t failures;
    uint8_t times_lost; /* how often the session ended while its flight was executed, */
    uint8_t lost_alone; /* with no other transaction in it */
    bool alone;         /* its flight has failed, or several were lost: the next is for it alone */
    int64_t blocked_us; /* as that of a task */
    struct lost_task lost;
};

struct flight;

/* Of how many statements it will be; more than BUNDLE_MAX_STATEMENTS it must not have. */
size_t bundle_statements(const struct bundle *b);
#define BUNDLE_MAX_STATEMENTS 1000
/* As task_size(), of all its tasks; more than OP_MAX_BYTES they must not have. */
size_t bundle_size(const struct bundle *b);
/* Sends tasks[count], at least one, when it is their turn. */
void bundle_send(struct bundle *b);
/* Will not be sent: all tasks fail. */
void bundle_refuse(struct bundle *b, const struct op_error *error);

/* For batch.c. */
void bundles_init(void);
bool bundles_wait(void);
/* Takes those that are next on board. */
void bundles_board(struct flight *f);
/* How a flight of bundles has ended. */
void bundles_committed(struct flight *f, PGresult *const *rows);
void bundles_failed(struct flight *f, const struct op_error *error);
void bundles_lost(struct flight *f);

#endif
