#ifndef CLIENT_H
#define CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <event2/event.h>
#include "base/buf.h"
#include "base/hash.h"
#include "base/list.h"
#include "config/memory_budget.h"
#include "net/long_work.h"
#include "net/output.h"
#include "net/req.h"
#include "net/resp.h"

/* libevent has a macro of the same name as list.h. */
#pragma push_macro("LIST_ENTRY")
#undef LIST_ENTRY
#include <event2/event_struct.h>
#pragma pop_macro("LIST_ENTRY")

/*
 * Client connections: accept, read, hand complete requests up, write replies
 * in the order of the requests. Knows no command.
 *
 * A client is read while its requests may be taken up; it is always watched
 * for its end. Closing marks; the turn's end frees, and a client's memory lives
 * until its last request has ended.
 */
#define CLIENT_STATES(X)                                                              \
    X(CLIENT_OPEN, "open")                                                            \
    X(CLIENT_CLOSING, "closing") /* takes nothing more; closes when all is written */ \
    X(CLIENT_DEAD, "dead")       /* socket closed; waits for the turn's end */

enum client_state {
#define X(id, name) id,
    CLIENT_STATES(X)
#undef X
};

enum client_reply_mode { REPLY_ON, REPLY_OFF, REPLY_SKIP_NEXT };

struct client {
    uint64_t id; /* counts from 1, as CLIENT ID */
    UT_hash_handle by_id;
    struct list in_state;     /* all clients of its state */
    struct list in_dirty;     /* clients with something to write at the turn's end */
    struct list in_ready;     /* clients that may take up their next command */
    struct list in_strangers; /* clients that had not authenticated when they came; some have since */
    enum client_state state;
    int fd;
    struct event read_event;
    struct event write_event;
    bool write_armed;
    struct buf in;
    struct output ahead; /* what is written before out */
    struct buf out;
    struct memory_share share; /* the memory that it causes */
    size_t own_counted;        /* of its output */
    size_t shared_counted;
    struct resp_parser parser;
    struct list reqs; /* requests not yet ended or not yet written, oldest first */
    int req_count;
    struct req *held;       /* the next command, which waits until earlier ones have ended */
    bool blocked;           /* its last request waits in GETJOB or WAITJOB */
    bool eof;               /* the peer closed its side: no more input will come */
    bool paused;            /* is not read, because too much waits already */
    struct get *get;        /* its GETJOB under way, or NULL; see waiters.h */
    struct taking *taking;  /* its BLPOP that needs a row or front to wait, or NULL; see taking.h */
    struct job_wait *wait;  /* its WAITJOB under way, or NULL; see waitjob.h */
    struct worker *worker;  /* who it is as a worker, or NULL; see worker.h */
    int64_t created_us;     /* clock_mono() */
    int64_t last_active_us; /* clock_mono() of the last byte read or command */
    int64_t stranger_us;    /* since when it owes a password; 0: it does not, or was not looked at yet */
    int64_t mute_until_us;  /* after a wrong password it is neither read nor answered before then; 0: it is */
    int64_t over_soft_us;   /* since when over the soft output limit; 0: not */
    int64_t stalled_us;     /* since when the socket takes nothing of its output; 0: it does */
    bool evicted;           /* to give back its memory: what was not sent for it is not done */
    char addr[64];          /* "127.0.0.1:4711" or the unix socket's path */
    char laddr[64];
    bool unix_socket;

    /* What commands keep per connection. */
    int proto; /* 2 or 3 */
    bool authenticated;
    bool redis_handshake; /* has shown to be a Redis client: HELLO n, CLIENT SETINFO ... */
    bool no_evict;
    bool no_touch;
    bool monitor;
    enum client_reply_mode reply_mode;
    int job_id_reply; /* enum job_id_reply, of config.h */
    struct list in_monitors;
    char *name; /* NULL: none */
    char *lib_name;
    char *lib_ver;
    const struct command *last_cmd;
    struct pubsub *pubsub; /* what it listens to, or NULL; pubsub.h */
    struct long_work
        *unread;         /* makes a long reply, and waits until what there is has been written; or NULL */
    struct multi *multi; /* what came since MULTI, or NULL; multi.h */
    struct exec *exec;   /* its EXEC under way, or NULL */

    uint64_t bytes_in;
    uint64_t bytes_out;      /* written to the socket */
    struct delivery *unsent; /* jobs in replies not yet written; see waiters.h */
    size_t unsent_count;
    size_t unsent_cap;
};

struct client_hooks {
    /* A whole command was read. The hook runs it, or returns false to have it
     * offered again when one of the client's requests has ended. */
    bool (*on_command)(struct client *c, struct req *r);
    /* Does it wait for a job, or for the end of one, so that there is nobody to tell when it has gone? */
    bool (*is_waiting)(const struct client *c);
    void (*on_close)(struct client *c);   /* once, when the socket is closed */
    void (*on_written)(struct client *c); /* all output has reached the socket */
};

void client_init(struct event_base *base, const struct client_hooks *hooks);
/* Takes over an accepted, non-blocking socket. One too many, or from outside
 * in protected mode, gets an error and is closed. */
void client_accept(int fd, bool unix_socket);

/* c has given a wrong password: it gets its answer later, the later the more wrong ones this server was given
 * lately. */
void client_mute(struct client *c);
/* Closes at the turn's end, without writing what is pending. reason is logged. */
void client_kill(struct client *c, const char *reason);
/* Takes no more commands; closes when every reply is written. */
void client_close_after_replies(struct client *c);
/* Bytes outside of requests and replies (MONITOR, push messages). */
void client_push(struct client *c, const void *bytes, size_t len);
/* May work w add to the reply that it makes for c? If not, w waits until c has got what there is, or has gone. */
bool client_takes_more(struct client *c, struct long_work *w);
/* There is no client to reply to any more. */
static inline bool client_has_gone(const struct client *c) {
    return c == NULL || c->state == CLIENT_DEAD;
}
/* The same for a message that other clients get, too. */
void client_push_shared(struct client *c, struct message *m);
/* Bytes that are not yet written. */
static inline size_t client_unwritten(const struct client *c) {
    return c->ahead.len + buf_len(&c->out);
}
/* Counts the memory of its buffers, which have changed. */
void client_count_buffers(struct client *c);
/* There may be something to write, or to close: look at it at the turn's end. */
void client_touch(struct client *c);
/* Replies now and lets r go on as an orphan: its reply is complete, but a task of
 * it is still under way. req_end() comes later. */
void client_detach(struct req *r);
/* CLIENT PAUSE: no client's command runs before then (clock_mono()); or only none that changes something,
 * which is for the hook to see to. */
void client_pause_until(int64_t mono_us, bool writes_only);
bool client_writes_paused(void);

struct client *client_by_id(uint64_t id);
/* All open and closing clients, in order of arrival. */
struct list *client_list(enum client_state state);
size_t client_count(void);
const char *client_ident(const struct client *c); /* for log lines; static buffer */

/* Offers commands again that were held, and parses on, where requests have ended or input was left; before the
 * batches are sent. These three end when their share of the turn is spent, and go on in the next. */
void clients_resume(void);
/* There is something left for the next turn: it must not wait for events. */
bool clients_pending(void);
/* End of turn: write replies, close who is to be closed, free the dead. */
void clients_flush(void);
void clients_reap(void);
/* Disconnects the largest clients as long as they hold more than the budget: client_memory.c. */
void clients_evict(void);
/* Idle timeouts, output limits by time; about ten times a second. */
void clients_cron(void);
void client_shutdown(void);

#endif
