/* Reads many jobs in pages, and builds the reply from them. */
#include "jobs/page.h"

#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "pg/params.h"

/* Limits of the rows that a statement reads. The minimum is for queues whose largest body is an exception. */
#define ROWS_LEAST 100
#define ROWS_MOST 2500
/* Bytes that the statements count for a row without its body. */
#define ROW_BYTES 256
/* Room for the header of the array, whose count is known last. */
#define HEADER_ROOM 32

void page_init(struct page *p, struct req *r, struct queue *q, int64_t wanted) {
    p->req = r;
    p->q = q;
    p->wanted = wanted;
    p->after = (struct job_key){ q->id, INT16_MIN, INT64_MIN };
    p->until = (struct job_key){ q->id, INT16_MAX, INT64_MAX };
}

/* In a client transaction: all rows that may fit. Otherwise: the rows that probably fit. */
static int64_t likely_rows(const struct page *p) {
    int64_t rows;

    if (p->in_txn)
        return p->bytes / ROW_BYTES + 1;
    rows = p->bytes / (int64_t)queue_job_bytes(p->q);
    return rows < ROWS_LEAST ? ROWS_LEAST : rows > ROWS_MOST ? ROWS_MOST : rows;
}

int64_t page_bytes(bool in_txn) {
    return in_txn || config.batch_max_bytes < PAGE_BYTES ? config.batch_max_bytes : PAGE_BYTES;
}

void page_plan(struct page *p, int64_t skipped) {
    p->in_txn = req_in_txn(p->req);
    p->bytes = page_bytes(p->in_txn);
    p->rows = likely_rows(p);
    if (p->rows > p->wanted)
        p->rows = p->wanted;
    task_reads(&p->req->task, queue_rows_read(p->q, skipped, p->rows, true));
}

bool page_is_last(const PGresult *result, int64_t rows, int64_t bytes) {
    int n = PQntuples(result);

    return n < rows && (n == 0 || row_int8(result, n - 1, COL_SCAN_JOBS_SIZE) < bytes);
}

static void note(struct page *p, const PGresult *result, int col) {
    int last = PQntuples(result) - 1;
    struct job_key key;

    if (last < 0)
        return;
    key = row_key(p->q->id, result, last, col);
    if (p->backwards)
        p->until = key;
    else
        p->after = key;
    p->wanted -= last + 1;
}

static void page_add_all(struct page *p, const PGresult *result,
                         void (*add)(struct page *p, const PGresult *result, int i)) {
    struct buf *out = p->req->out;
    int n = PQntuples(result);

    p->req->out = &p->found;
    for (int i = 0; i < n; i++)
        add(p, result, i);
    p->req->out = out;
    p->count += (size_t)n;
}

static void begin_found(struct page *p) {
    if (p->found.cap > 0)
        return;
    buf_reserve(&p->found, HEADER_ROOM);
    buf_added(&p->found, HEADER_ROOM);
}

/* Writes the header directly before the elements. */
static void reply_found(struct page *p) {
    char header[HEADER_ROOM];
    size_t len = (size_t)snprintf(header, sizeof header, "*%zu\r\n", p->count);

    memcpy(buf_ptr(&p->found) + HEADER_ROOM - len, header, len);
    buf_consume(&p->found, HEADER_ROOM - len);
    reply_take(p->req, &p->found);
    req_hold(p->req, 0);
    req_end(p->req);
}

static void reply_at_once(struct page *p, const PGresult *result,
                          void (*add)(struct page *p, const PGresult *result, int i)) {
    int n = PQntuples(result);

    reply_array(p->req, (size_t)n);
    for (int i = 0; i < n; i++)
        add(p, result, i);
    req_end(p->req);
}

void page_refuse(struct page *p) {
    page_free(p);
    req_error(p->req, "LIMIT the reply is larger than batch-max-bytes, and between MULTI and EXEC it is one "
                      "statement: read it in parts, or by itself");
}

bool page_take(struct page *p, const PGresult *result, int col,
               void (*add)(struct page *p, const PGresult *result, int i)) {
    bool is_first = p->found.cap == 0, is_last;

    note(p, result, col);
    is_last = p->wanted <= 0 || page_is_last(result, p->rows, p->bytes);
    if (is_first && is_last) {
        reply_at_once(p, result, add);
        return false;
    }
    if (p->in_txn) {
        page_refuse(p);
        return false;
    }
    begin_found(p);
    page_add_all(p, result, add);
    req_hold(p->req, p->found.cap);
    if (is_last || req_is_orphan(p->req)) {
        reply_found(p);
        return false;
    }
    return true;
}

void page_free(struct page *p) {
    buf_free(&p->found);
    req_hold(p->req, 0);
}
