#ifndef LIST_PAGES_H
#define LIST_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "base/clock.h"
#include "base/jobid.h"
#include "batch/op.h"
#include "queue/queue.h"

/* A queued job with more than 50 years to live, such as an element of a list, has no end for the commands about keys. */
#define KEY_FOR_EVER_US (50 * 366 * 86400 * US_PER_S)

/*
 * Something is done with all queued jobs of a queue: with those that are there when it begins, page by page, each
 * a statement of its own, so that a list of a million holds nobody up. What comes meanwhile behind the last of
 * them stays as it is. Each page is committed before the next is asked for.
 */
struct list_pages {
    /* The owner's. */
    struct queue *q; /* has its row, and is used until the end */
    struct op *op;   /* op_empty_list or op_date_list */
    /* Of op_date_list: jobs that expire by before will do so at expires_at; wake_at as in their rows. */
    int64_t expires_at;
    int64_t wake_at;
    int64_t before;
    /* Called once. error: a page failed, and what follows was not done; else NULL. */
    void (*ended)(struct list_pages *p, const struct op_error *error);
    int64_t jobs; /* with which it was done */
    bool lost;    /* with more, perhaps: the answer to a page was lost */
    /* Private. */
    struct task task;
    struct job_key after; /* the last of the pages so far */
    struct job_key until; /* the last one there is to be */
    struct queue_walk walk;
};

void list_pages_begin(struct list_pages *p);

/* A queued job was deleted, and that is committed. In the row, from column col on: ready_at, expires_at, retry,
 * group_key. */
void list_job_deleted(struct job_key key, const PGresult *rows, int row, int col);

#endif
