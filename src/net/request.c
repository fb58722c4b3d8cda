/* Requests: arguments, memory, reply. Every request ends exactly once. */
#include "net/request.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "base/stats.h"

struct req_chunk {
    struct req_chunk *next;
    size_t size; /* including this struct */
};

/* Overhead of an allocation in bytes. */
#define MALLOC_BYTES 16

#define ALIGN(n) (((n) + sizeof(void *) - 1) & ~(sizeof(void *) - 1))

/* Allocates a request and `more` bytes after it. */
static struct req *alloc_req(size_t more) {
    struct req *r = pool_take(sizeof *r + more);

    memset(r, 0, sizeof *r);
    r->size = sizeof *r + more;
    r->fixed = r->size + MALLOC_BYTES;
    return r;
}

static struct req *new_stealing(int argc, const struct slice *argv, struct buf *steal) {
    struct req *r = alloc_req((size_t)argc * sizeof(struct slice));

    r->argv = (struct slice *)(r + 1);
    memcpy(r->argv, argv, (size_t)argc * sizeof *argv);
    r->body = *steal;
    r->large = buf_len(&r->body) > REQ_LARGE_BYTES;
    *steal = (struct buf){ 0 };
    return r;
}

/* The request, its slices and its bytes are one allocation. */
static struct req *new_copying(int argc, const struct slice *argv) {
    size_t bytes = 0;
    char *at;
    struct req *r;

    for (int i = 0; i < argc; i++)
        bytes += argv[i].len;
    r = alloc_req((size_t)argc * sizeof(struct slice) + bytes);
    r->large = bytes > REQ_LARGE_BYTES;
    r->argv = (struct slice *)(r + 1);
    at = (char *)(r->argv + argc);
    for (int i = 0; i < argc; i++) {
        r->argv[i] = (struct slice){ at, argv[i].len };
        memcpy(at, argv[i].ptr, argv[i].len);
        at += argv[i].len;
    }
    return r;
}

struct req *req_new(int argc, const struct slice *argv, struct buf *steal, void (*on_end)(struct req *)) {
    struct req *r = steal != NULL ? new_stealing(argc, argv, steal) : new_copying(argc, argv);

    r->argc = argc;
    r->proto = 2;
    r->out = &r->own;
    r->on_end = on_end;
    list_init(&r->in_client);
    fair_node_init(&r->task.turn);
    r->kind = MEMORY_REQUESTS;
    req_settle(r);
    return r;
}

void req_settle(struct req *r) {
    size_t now = r->fixed + r->held + r->body.cap + r->own.cap;

    memory_change(r->share, r->kind, r->bytes, now);
    r->bytes = now;
}

void req_hold(struct req *r, size_t bytes) {
    r->held = bytes;
    req_settle(r);
}

bool req_is_orphan(const struct req *r) {
    return r->client == NULL && r->exec == NULL;
}

void req_join(struct req *r, struct memory_share *share, enum memory_kind kind) {
    req_leave(r);
    if (kind != r->kind) {
        memory_change(NULL, r->kind, r->bytes, 0);
        memory_change(NULL, kind, 0, r->bytes);
    }
    memory_join(share, kind, r->bytes);
    r->share = share;
    r->kind = kind;
}

void req_leave(struct req *r) {
    if (r->share != NULL)
        memory_leave(r->share, r->kind, r->bytes);
    r->share = NULL;
}

void *req_alloc(struct req *r, size_t size) {
    size_t whole = sizeof(struct req_chunk) + ALIGN(size);
    struct req_chunk *c = pool_take_zeroed(whole);

    c->next = r->chunks;
    c->size = whole;
    r->chunks = c;
    r->fixed += whole + MALLOC_BYTES;
    req_settle(r);
    return c + 1;
}

struct slice req_take_text(struct req *r, struct buf *text) {
    size_t len = buf_len(text);
    struct slice copy = { memcpy(req_alloc(r, len), buf_ptr(text), len), len };

    buf_free(text);
    return copy;
}

void req_end(struct req *r) {
    r->done = true;
    if (r->own.cap > 0)
        req_settle(r);
    r->on_end(r);
}

void req_free(struct req *r) {
    if (r->user != NULL)
        user_release(r->user);
    memory_change(r->share, r->kind, r->bytes, 0);
    while (r->chunks != NULL) {
        struct req_chunk *next = r->chunks->next;

        pool_give(r->chunks, r->chunks->size);
        r->chunks = next;
    }
    buf_free(&r->own);
    buf_free(&r->body);
    pool_give(r, r->size);
}

void reply_move(struct req *r, size_t from, struct buf *to) {
    struct buf *out = reply_buf(r);

    buf_append(to, buf_ptr(out) + from, buf_len(out) - from);
    out->end -= buf_len(out) - from;
}

struct buf *reply_buf(struct req *r) {
    return r->out;
}

void reply_status(struct req *r, const char *text) {
    resp_status(r->out, text);
}

static void reply_verror(struct req *r, const char *fmt, va_list args) {
    char text[1024];

    vsnprintf(text, sizeof text, fmt, args);
    r->failed = true;
    stats_count_error(text);
    resp_error(r->out, text);
}

void reply_error(struct req *r, const char *fmt, ...) {
    va_list args;

    va_start(args, fmt);
    reply_verror(r, fmt, args);
    va_end(args);
}

void reply_int(struct req *r, int64_t value) {
    resp_int(r->out, value);
}

void reply_bulk(struct req *r, struct slice value) {
    resp_bulk(r->out, value);
}

void reply_bulk_str(struct req *r, const char *text) {
    resp_bulk_str(r->out, text);
}

void reply_null_bulk(struct req *r) {
    resp_null_bulk(r->out, r->proto);
}

void reply_null_array(struct req *r) {
    resp_null_array(r->out, r->proto);
}

void reply_array(struct req *r, size_t count) {
    resp_array(r->out, count);
}

void reply_map(struct req *r, size_t pairs) {
    resp_map(r->out, pairs, r->proto);
}

void reply_pair_int(struct req *r, const char *name, int64_t value) {
    reply_bulk_str(r, name);
    reply_int(r, value);
}

void reply_take(struct req *r, struct buf *text) {
    if (buf_len(r->out) == 0) {
        buf_free(r->out);
        *r->out = *text;
    } else {
        buf_append(r->out, buf_ptr(text), buf_len(text));
        free(text->data);
    }
    *text = (struct buf){ 0 };
}

void req_ok(struct req *r) {
    reply_status(r, "OK");
    req_end(r);
}

void req_error(struct req *r, const char *fmt, ...) {
    va_list args;

    va_start(args, fmt);
    reply_verror(r, fmt, args);
    va_end(args);
    req_end(r);
}

void req_int(struct req *r, int64_t value) {
    reply_int(r, value);
    req_end(r);
}

void req_answer_lost(struct req *r) {
    req_error(r, "UNKNOWN the command was done with its transaction, but the connection to the database was "
                 "lost with its result");
}

void req_outcome_unknown(struct req *r) {
    req_error(
        r, "UNKNOWN the connection to the database was lost: the command took effect as a whole, or not at "
           "all");
}

void req_answer_lost_task(struct task *t) {
    req_answer_lost(REQ_OF_TASK(t));
}

void req_maybe_done(struct req *r) {
    req_error(r, "UNKNOWN the connection to the database was lost: the command may have been done");
}

bool req_again_if_undone(struct task *t, bool unknown) {
    if (unknown)
        req_maybe_done(REQ_OF_TASK(t));
    return !unknown;
}

void req_text(struct req *r, struct buf *text) {
    buf_reserve(text, 1); /* An empty buffer has no address to point at. */
    reply_bulk(r, (struct slice){ buf_ptr(text), buf_len(text) });
    buf_free(text);
    req_end(r);
}

#define DISCARDED "EXECABORT Transaction discarded because of: "

/* Failures that have their own error code, by SQLSTATE. */
static const struct {
    const char *sqlstate;
    const char *reply;
} own_codes[] = {
    { OP_TOO_LARGE,
      "LIMIT this command is too large for one statement of the database, which can take 768 MB: "
      "send it in parts" },
    { OP_LOCKED,
      "LOCKED another session of the database holds a lock on a row or a table that this command needs: "
      "nothing was done" },
    { OP_DISK_FULL, DISK_FULL },
    { OP_QUEUES_FULL, "OOM no new queue can be made, because the queues take more memory than "
                      "maxmemory-queues: delete queues, or raise it" },
    { DB_RESULTS_TOO_LARGE,
      "LIMIT the results of the transaction take more than a quarter of maxmemory: nothing was done" },
    { DB_TOO_LONG,
      "LIMIT the transaction kept the database busy for longer than transaction-timeout: nothing was done. "
      "Divide it into smaller transactions" },
    { OP_NOT_ACKED, DISCARDED NOT_ACKED },
    { OP_NO_PREDECESSOR, DISCARDED NO_PREDECESSOR },
    { OP_NO_BATCH, DISCARDED NO_BATCH },
    { OP_TOO_DEEP, DISCARDED TOO_DEEP },
    { OP_LOST, "CRASHED the database ended the session each time that it executed this command: it was not "
               "done, or its answer was lost; see the logs of the database" },
};

const char *db_error_reply(const struct op_error *err) {
    for (size_t i = 0; i < LENGTH(own_codes); i++)
        if (strcmp(err->sqlstate, own_codes[i].sqlstate) == 0)
            return own_codes[i].reply;
    return NULL;
}

void req_fail_task(struct task *t, const struct op_error *err) {
    req_db_error(REQ_OF_TASK(t), err);
}

void req_db_error(struct req *r, const struct op_error *err) {
    const char *reply = db_error_reply(err);

    if (reply != NULL)
        req_error(r, "%s", reply);
    else
        req_error(r, "DBERR the database refused this request: %s (SQLSTATE %s)", err->message,
                  err->sqlstate);
}
