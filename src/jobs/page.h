#ifndef PAGE_H
#define PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "base/buf.h"
#include "net/req.h"
#include "queue/queue.h"

/*
 * A read of many jobs in pages: each page is one statement, whose result has about batch-max-bytes at most, or one
 * job. The next page begins behind the last key of the page before it. The statement bounds the bytes itself; its
 * first column is the size of all rows so far.
 *
 * The reply is an array whose count is known at the end. A range that is one page is replied at once. The elements of
 * a longer one are collected, and are counted as memory of the request.
 */
struct page {
    struct req *req;
    struct queue *q;
    struct job_key after; /* the jobs between these two keys, neither of them included */
    struct job_key until;
    bool backwards; /* the statement's order is that of falling keys */
    bool inside;    /* between MULTI and EXEC: one statement */
    int64_t wanted; /* so many jobs more */
    int64_t rows;   /* asked for by the statement under way, */
    int64_t bytes;  /* and the size after which it leaves rows off */
    struct buf found;
    size_t count; /* elements in found */
};

void page_init(struct page *p, struct req *r, struct queue *q, int64_t wanted);
/* Sets rows, bytes and inside for the next statement. */
void page_plan(struct page *p);
/* Is the result the last one of the range? The statement had that limit of rows and of bytes. */
bool page_is_last(const PGresult *result, int64_t rows, int64_t bytes);
/* Takes the result, whose rank and id stand from column col on. add appends row i to p->found, or to the reply when
 * all is one page. True: the next statement is to be sent. False: the request has ended. */
bool page_take(struct page *p, const PGresult *result, int col,
               void (*add)(struct page *p, const PGresult *result, int i));
/* Ends the request: the result is too large to be one statement. */
void page_refuse(struct page *p);
void page_free(struct page *p);

#endif
