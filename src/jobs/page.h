#ifndef PAGE_H
#define PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "base/buf.h"
#include "net/request.h"
#include "queue/queue.h"

/*
 * Reads many jobs in pages. Each page is one statement whose result has at most about PAGE_BYTES, or one job. In a client
 * transaction there is one page only, of at most about batch-max-bytes.
 * The next page begins after the last key of the page before. The statement limits the bytes: its first column is
 * the size of all rows up to that row.
 *
 * The reply is an array whose count is known at the end. A range of one page is replied at once. The elements of a
 * longer range are collected, and count as memory of the request.
 */
#define PAGE_BYTES (2 * 1024 * 1024)

struct page {
    struct req *req;
    struct queue *q;
    struct job_key after; /* the jobs between these two keys, both excluded */
    struct job_key until;
    bool backwards; /* the statement returns falling keys */
    bool in_txn;    /* in a client transaction: one statement only */
    int64_t wanted; /* number of jobs that are still missing */
    int64_t rows;   /* limit of rows in the statement that runs */
    int64_t bytes;  /* limit of bytes in it */
    struct buf found;
    size_t count; /* elements in found */
};

/* The most bytes of a page, without the last row. */
int64_t page_bytes(bool in_txn);
void page_init(struct page *p, struct req *r, struct queue *q, int64_t wanted);
/* Sets the limits of rows and bytes for the next statement, and what it reads (task_reads()) after it has skipped so many
 * jobs. */
void page_plan(struct page *p, int64_t skipped);
/* Is the result the last one of the range? rows, bytes: the limits that the statement had. */
bool page_is_last(const PGresult *result, int64_t rows, int64_t bytes);
/* Takes the result, whose rank and id are in the columns col and col + 1. add() appends row i to p->found, or to
 * the reply if all is one page. True: send the next statement. False: the request has ended. */
bool page_take(struct page *p, const PGresult *result, int col,
               void (*add)(struct page *p, const PGresult *result, int i));
/* Ends the request with an error: the range is too large for one statement. */
void page_refuse(struct page *p);
void page_free(struct page *p);

#endif
