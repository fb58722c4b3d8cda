#ifndef BULK_H
#define BULK_H

#include <stdbool.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "base/clock.h"
#include "base/job_key.h"
#include "batch/op.h"
#include "queue/queue.h"
#include "queue/queue_store.h"

/* For EXPIRE and TTL commands, a job with more than 50 years to live has no end. Elements of lists are such jobs. */
#define KEY_FOR_EVER_US (50 * 366 * 86400 * US_PER_S)

/*
 * Changes all queued jobs of a queue that are there when it begins. Each page is one statement and one transaction.
 * A list of a million elements therefore does not delay other clients. The next page is sent after the commit of the
 * page before. Jobs that are added later after the last key stay unchanged.
 */
struct list_pages {
    /* Set by the caller. */
    struct fair_user *user; /* whose turns the pages take */
    struct queue *q;        /* must have its row; in use until the end */
    struct op *op;          /* op_empty_list, op_date_list, or op_empty_queue for jobs in all states */
    /* For op_date_list: jobs that expire by before get expires_at and wake_at, as in their rows. */
    int64_t expires_at;
    int64_t wake_at;
    int64_t before;
    /* Called once. error: a page failed, and the pages after it were not sent. NULL: success. */
    void (*ended)(struct list_pages *p, const struct op_error *error);
    int64_t jobs; /* changed jobs */
    bool lost;    /* perhaps more: the result of a page was lost */
    /* Private. */
    struct task task;
    struct row_waiter row_waiter; /* until the jobs ahead are put back */
    struct job_key after;         /* last key of the pages so far */
    struct job_key until;         /* last key to change */
    struct queue_scan scan;
};

void bulk_begin(struct list_pages *p);

/* A queued job was deleted, and that is committed. Columns of the row, from col on: ready_at or
 * queued_since, expires_at, retry, group_key, in_flow. */
void bulk_job_deleted(struct job_key key, const PGresult *rows, int row, int col);
/* The same for all rows, which are jobs of q. Removes them from its scan position, too. rank_col: the first column of
 * the keys. */
void bulk_jobs_deleted(struct queue *q, const PGresult *rows, int rank_col, int col);

#endif
