#ifndef REQUEST_H
#define REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "acl/user.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/util.h"
#include "batch/op.h"
#include "config/memory_budget.h"
#include "net/resp.h"

/*
 * A request of a client: its arguments, its memory, its reply. It is created when a command was read
 * completely, and ends exactly once, by req_end(). Replies are sent in the order of the client's requests.
 *
 * If the client disconnects first, the request becomes an orphan: client is NULL, and its reply is discarded.
 * It still ends exactly once.
 */
struct client;
struct command;

struct req {
    struct list in_client; /* in the list of the client's requests, the oldest first */
    struct client *client; /* NULL: orphan */
    const struct command *cmd;
    struct user *user;    /* whose rights it has; NULL: the server's own request */
    unsigned short right; /* the right that its command needs; not set if user->all */
    /* Private to queue_rights.c: the last queue of an ID, and if the user may read it. */
    struct {
        int32_t queue_id; /* 0: none */
        unsigned rights;  /* user->rights at that time */
        bool covers;
    } last_cover;
    struct task task; /* its share in a statement, if it needs one */
    int argc;
    struct slice *argv; /* argv[0] is the command as sent */
    int proto;          /* 2 or 3 */
    bool large;         /* its arguments have more than REQ_LARGE_BYTES */
    bool done;
    bool failed;        /* its reply is an error */
    bool none_is_empty; /* LPOP of a script: the reply is an empty array if there are no elements */
    bool stale_is_none; /* a command of a client library: a stale token names no job, and is no error */
    bool silent;        /* CLIENT REPLY OFF or SKIP: no reply is sent */
    bool has_jobs;      /* its reply has jobs, and was not in the output when they were noted; delivery.h */
    int64_t started_us; /* clock_mono() when the handler was called */
    /* The request of the EXEC that runs it, or NULL. It stays after the commit, while task.client_txn is NULL then. */
    struct req *exec;
    void *data; /* the handler's data, from req_alloc() */
    /* Private: the buffer of the reply, and memory. */
    struct buf *out;
    struct buf own;
    struct req_chunk *chunks;
    struct buf body;            /* the input buffer that it took over, for large commands */
    struct memory_share *share; /* share of the client that its memory counts for, or NULL */
    enum memory_kind kind;
    size_t size;  /* size of the block of memory of this struct */
    size_t fixed; /* bytes besides its buffers */
    size_t held;  /* bytes of its handler, see req_hold() */
    size_t bytes; /* all bytes that are counted */
    void (*on_end)(struct req *r);
    void (*owner_on_end)(struct req *r); /* the owner's on_end, while dispatch.c has its own in on_end */
};

/* The jobs of a larger request are added over the connection CONN_LARGE. */
#define REQ_LARGE_BYTES ((size_t)2 * 1024 * 1024)

#define REQ_OF_TASK(t) CONTAINER_OF(t, struct req, task)

/* Copies the arguments. If steal is not NULL, it takes over that buffer, which contains argv, and leaves
 * *steal empty. on_end is called once by req_end(), and must free or keep the request. */
struct req *req_new(int argc, const struct slice *argv, struct buf *steal, void (*on_end)(struct req *));
/* Counts its memory in share, as that kind, until req_leave(). */
void req_join(struct req *r, struct memory_share *share, enum memory_kind kind);
void req_leave(struct req *r);
/* Counts its buffers again, after one of them was changed from outside. */
void req_settle(struct req *r);
/* Sets the number of bytes that its handler holds for it in other memory. */
void req_hold(struct req *r, size_t bytes);
/* Sets or replaces its user. */
static inline void req_set_user(struct req *r, struct user *u) {
    if (r->user == u)
        return;
    if (r->user != NULL)
        user_release(r->user);
    r->user = user_hold(u);
    r->last_cover.queue_id = 0;
    r->task.turn.user = &u->turns;
}
/* True if its user may access the queue with its command. access is of enum acl_access. */
static inline bool req_may_queue(const struct req *r, unsigned access, struct slice queue) {
    return r->user == NULL || r->user->all || user_may_queue(r->user, r->right, access, queue);
}
/* The same for a channel, or for a pattern of PSUBSCRIBE. */
static inline bool req_may_channel(const struct req *r, struct slice channel, bool is_pattern) {
    return r->user == NULL || r->user->all || user_may_channel(r->user, r->right, channel, is_pattern);
}
/* True if its task is in a client transaction. The result then depends on the earlier statements of the transaction. When
 * the transaction has ended, the task is in none any more. */
static inline bool req_in_txn(const struct req *r) {
    return r->task.client_txn != NULL;
}
/* True if its client has disconnected. Then no reply is needed. */
bool req_is_orphan(const struct req *r);
/* Zeroed memory that lives as long as the request. */
void *req_alloc(struct req *r, size_t size);
/* Moves the text to memory of the request. */
struct slice req_take_text(struct req *r, struct buf *text);
/* Ends the request: the reply is complete, or there is none. r must not be used after this. */
void req_end(struct req *r);
void req_free(struct req *r);

/* Building the reply. reply_buf() is the buffer for the next bytes. Write the whole reply and call req_end()
 * before anything else runs. */
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
/* A pair of a map. */
void reply_pair_int(struct req *r, const char *name, int64_t value);
/* Moves the bytes of the reply from `from` on to the end of `to`, to be replied later. */
void reply_move(struct req *r, size_t from, struct buf *to);
/* Appends bytes of the protocol, and takes over or frees their memory. */
void reply_take(struct req *r, struct buf *text);

/* These write a reply and call req_end(). */
void req_ok(struct req *r);
void req_error(struct req *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
void req_int(struct req *r, int64_t value);
/* Replies -DBERR with the database's message, or the error of db_error_reply(), and ends r. */
void req_db_error(struct req *r, const struct op_error *err);
/* op.fail of a request that holds nothing else: the same. */
void req_fail_task(struct task *t, const struct op_error *err);
#define NOT_ACKED "NOTACKED a job of ACKJOB REQUIRED is gone, or its token is stale: nothing was done"
#define NO_PREDECESSOR "NOJOB AFTER names a job that is unknown"
#define NO_BATCH "NOJOB BATCH names no batch that takes jobs: it is unknown, cancelled or complete"
/* The limit is in sql/parts/may_nest.sql. */
#define TOO_DEEP "LIMIT batches are nested in at most 16 levels"
#define DISK_FULL "DISKFULL the disk of the database is full: nothing was done"
/* The reply to a failure that has its own code; NULL if that is DBERR. */
const char *db_error_reply(const struct op_error *err);
/* Replies -UNKNOWN, for a transaction that was committed and whose results are lost, and ends r. */
void req_answer_lost(struct req *r);
/* op.answer_lost of a request that holds nothing else: the same. */
void req_answer_lost_task(struct task *t);
/* Replies -UNKNOWN, if it is unknown whether the transaction of the whole command was committed, and ends r. */
void req_outcome_unknown(struct req *r);
/* The same for a command that may also have been done in part. */
void req_maybe_done(struct req *r);
/* op.again of a change that must not run twice: if the first try may have been committed, replies -UNKNOWN. */
bool req_again_if_undone(struct task *t, bool unknown);
/* Replies text as one bulk, frees its memory, and ends r. */
void req_text(struct req *r, struct buf *text);

#endif
