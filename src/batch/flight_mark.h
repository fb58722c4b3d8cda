#ifndef FLIGHT_MARK_H
#define FLIGHT_MARK_H

#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"
#include "batch/op.h"

/*
 * Was a flight committed whose connection died? A server that is alone finds out by what the
 * flight has done: a job that is there was inserted. With other servers a job that is not there
 * may have been delivered and acknowledged by one of them meanwhile, and to insert it again
 * would deliver it twice. So each flight that inserts jobs leaves a row with its number, in the
 * same transaction, which is removed some time after the answer has come.
 */

/* While a task is encoded: the number of its flight, which carries the row. 0: there are no other servers. */
int64_t flight_mark(void);

/* The same, other servers or not: for changes that must not be done twice. */
int64_t flight_mark_always(void);
/* The same for a flight that is begun. */
int64_t flight_mark_begin(void);

enum flight_fate {
    FLIGHT_UNKNOWN, /* the database does not say */
    FLIGHT_COMMITTED,
    FLIGHT_UNDONE,
};

struct lost_task {
    struct list node;
    int64_t flight;
    void (*on_known)(struct lost_task *l, enum flight_fate fate);
};

/* Finds out; on_known is called once. */
void flight_ask(struct lost_task *l);
/* Once a second. */
void flight_forget(void);

#endif
