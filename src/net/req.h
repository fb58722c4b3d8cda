#ifndef REQ_H
#define REQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/list.h"
#include "base/util.h"
#include "batch/op.h"
#include "config/memory_budget.h"
#include "net/resp.h"

/*
 * One request of a client: its arguments, its memory, its reply. It is made
 * when a command was read whole and ends exactly once, by req_end(). Its reply
 * leaves when all earlier requests of the client have left.
 *
 * When the client goes first, the request becomes an orphan: client is NULL,
 * what it replies is thrown away, and it still ends exactly once.
 */
struct client;
struct command;
struct exec;

struct req {
    struct list in_client; /* the client's requests, oldest first */
    struct client *client; /* NULL: orphan */
    const struct command *cmd;
    struct task task; /* its share in a statement, when it needs one */
    int argc;
    struct slice *argv; /* argv[0] is the command as sent */
    int proto;          /* 2 or 3 */
    bool done;
    bool failed;        /* its reply is an error */
    bool none_is_empty; /* LPOP of a script: no elements are an empty array */
    bool silent;        /* CLIENT REPLY OFF or SKIP: no reply leaves */
    int64_t started_us; /* clock_mono() when the handler was called */
    struct exec *exec;  /* the transaction it is part of, or NULL; multi.h */
    void *data;         /* the handler's own, from req_alloc() */
    /* Private: where the reply is built, and memory. */
    struct buf *out;
    struct buf own;
    struct req_chunk *chunks;
    struct buf body;            /* the input buffer it took over, for large commands */
    struct memory_share *share; /* of the client that it burdens, or NULL */
    enum memory_kind kind;
    size_t size;  /* of this block of memory */
    size_t fixed; /* bytes besides its buffers, */
    size_t held;  /* those of its handler, */
    size_t bytes; /* and all that are counted */
    void (*on_end)(struct req *r);
    void (*owner_on_end)(struct req *r); /* while command.c counts the end first */
};

#define REQ_OF_TASK(t) CONTAINER_OF(t, struct req, task)

/* Copies the arguments; or, when steal is not NULL, takes over that buffer, in
 * which argv lies, and leaves *steal empty. on_end is called once by req_end()
 * and must free or keep the request. */
struct req *req_new(int argc, const struct slice *argv, struct buf *steal, void (*on_end)(struct req *));
/* Its memory burdens the share, as one of that kind, until req_leave(). */
void req_join(struct req *r, struct memory_share *share, enum memory_kind kind);
void req_leave(struct req *r);
/* Counts its buffers, after one of them was changed from outside. */
void req_settle(struct req *r);
/* So many bytes its handler holds for it now, in memory of its own. */
void req_hold(struct req *r, size_t bytes);
/* Has its client gone? Then no reply is needed. */
bool req_is_orphan(const struct req *r);
/* Zeroed memory that lives as long as the request. */
void *req_alloc(struct req *r, size_t size);
/* The reply is complete (or there will be none). Nothing may touch r after. */
void req_end(struct req *r);
void req_free(struct req *r);

/* Building the reply. reply_buf() is where the next bytes go; write the whole
 * reply and call req_end() before anything else runs. */
struct buf *reply_buf(struct req *r);
void reply_status(struct req *r, const char *text);
void reply_error(struct req *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
void reply_int(struct req *r, int64_t value);
void reply_bulk(struct req *r, struct slice value);
void reply_bulk_str(struct req *r, const char *text);
void reply_null_bulk(struct req *r);
void reply_null_array(struct req *r);
void reply_array(struct req *r, size_t count);
void reply_map(struct req *r, size_t pairs);
/* Appends bytes of the protocol, and takes over or frees their memory. */
void reply_take(struct req *r, struct buf *text);

/* The commonest endings: reply, then req_end(). */
void req_ok(struct req *r);
void req_error(struct req *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
void req_int(struct req *r, int64_t value);
/* -DBERR with what the database said. */
void req_db_error(struct req *r, const struct op_error *err);
/* The reply to a failure that has a code of its own; NULL: it is DBERR. */
#define DISK_FULL "DISKFULL the disk of the database is full: nothing was done"
const char *db_error_reply(const struct op_error *err);
/* -UNKNOWN: of a transaction that was committed, whose results nobody knows. */
void req_answer_lost(struct req *r);
/* Replies text as one bulk and frees its memory. */
void req_text(struct req *r, struct buf *text);

#endif
