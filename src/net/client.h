#ifndef CLIENT_H
#define CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <event2/event.h>
#include "acl/user.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/list.h"
#include "config/memory_budget.h"
#include "net/long_work.h"
#include "net/output.h"
#include "net/request.h"
#include "net/resp.h"
#include "net/sockets.h"

/* libevent has a macro of the same name as list.h. */
#pragma push_macro("LIST_ENTRY")
#undef LIST_ENTRY
#include <event2/event_struct.h>
#pragma pop_macro("LIST_ENTRY")

/*
 * Client connections: accept them, read them, pass on complete requests, and write replies in the order of the
 * requests. This module knows no command.
 *
 * A client is read while its requests can be accepted. The end of its connection is always watched.
 * client_kill() and the like only mark a client: it is freed at the end of the turn, after its last request has
 * ended.
 */
#define CLIENT_STATES(X)                                                                   \
    X(CLIENT_OPEN, "open")                                                                 \
    X(CLIENT_CLOSING, "closing") /* no more commands; closes when all output is written */ \
    X(CLIENT_DEAD, "dead")       /* socket closed; freed at the end of a turn */

enum client_state {
#define X(id, name) id,
    CLIENT_STATES(X)
#undef X
};

enum client_reply_mode { REPLY_ON, REPLY_OFF, REPLY_SKIP_NEXT };

struct client {
    uint64_t id; /* as CLIENT ID, from 1 on */
    UT_hash_handle by_id;
    struct list in_state;    /* in the list of clients of its state */
    struct list in_dirty;    /* in the list of clients to flush at the end of the turn */
    struct list in_ready;    /* in the list of clients whose next command may start */
    struct list in_unproven; /* in the set of clients that owe a password or handshake; see unproven.h */
    enum client_state state;
    int fd;
    struct tls *tls; /* NULL: no TLS */
    struct event read_event;
    struct event write_event;
    bool write_armed;
    struct buf in;
    struct output ahead; /* output that is written before `out` */
    struct buf out;
    struct memory_share share; /* the memory that it uses */
    size_t replies_elsewhere;  /* see client_count_replies() */
    size_t own_counted;        /* bytes of its output that are counted in `share` */
    size_t shared_counted;     /* the same for shared messages */
    struct resp_parser parser;
    struct list reqs; /* requests that have not ended or are not written, the oldest first */
    int req_count;
    struct req *held;            /* the next command, which waits until earlier ones have ended */
    bool blocked;                /* its last request waits in GETJOB or WAITJOB */
    bool eof;                    /* the client closed its side: no more input will come */
    bool paused;                 /* it is not read, because too many requests or bytes are queued */
    struct taker *taker;         /* its GETJOB or list pop, or NULL; see waiters.h */
    struct list_take *list_take; /* its BLPOP that waits for a row, or NULL; see list_take.h */
    struct queue *held_by;       /* while held_adds is not 0: the queue whose jobs ahead its adds wait for */
    unsigned held_adds;          /* adds that wait; see jobs/add_ahead.h */
    struct job_wait *wait;       /* its WAITJOB, or NULL; see waitjob.h */
    struct worker *worker;       /* its name as a worker, or NULL; see worker.h */
    int64_t created_us;          /* clock_mono() */
    int64_t last_active_us;      /* clock_mono() of the last byte read or command */
    int64_t unauthenticated_us;  /* since when it must authenticate; 0: it need not, or was not checked yet */
    /* after a wrong password: until then it is neither read nor answered; 0: not muted */
    int64_t mute_until_us;
    int64_t over_soft_us; /* since when its output exceeds the soft limit; 0: it does not */
    int64_t stalled_us;   /* since when its socket accepts no output; 0: it does */
    bool evicted;         /* closed because of its memory: tasks that were not sent are withdrawn */
    char addr[64];        /* "127.0.0.1:4711" or the unix socket's path */
    char laddr[64];
    bool unix_socket;
    bool is_extra; /* accepted above maxclients, for the login of an administrator */

    /* State of commands. */
    int proto;            /* 2 or 3 */
    struct user *user;    /* its rights; the default user until it logs in */
    bool authenticated;   /* it has logged in */
    bool redis_handshake; /* it has sent HELLO n, CLIENT SETINFO or another command of Redis' handshake */
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
    struct pubsub *pubsub;    /* its subscriptions, or NULL; pubsub.h */
    struct long_work *unread; /* makes a long reply, and waits until the output is written; or NULL */
    struct multi *multi;      /* its commands since MULTI, or NULL; multi.h */
    struct exec *exec;        /* its EXEC, or NULL */

    uint64_t bytes_in;
    uint64_t bytes_out;      /* written to the socket */
    struct delivery *unsent; /* jobs in replies that are not written yet; see delivery.h */
    size_t unsent_count;
    size_t unsent_placed; /* the first of them have no holder */
    size_t unsent_cap;
    /* where they go when their replies are written to a gateway, see undelivered.h; NULL: no gateway */
    struct undelivered_list *to_pass_on;
};

struct client_hooks {
    /* A complete command was read. The hook runs it. If it returns false, it is called again for the same
     * command when a request of the client has ended. */
    bool (*on_command)(struct client *c, struct req *r);
    /* True if the client only waits for a job or for the end of a job. Then nothing is lost when it
     * disconnects. */
    bool (*is_waiting)(const struct client *c);
    void (*on_close)(struct client *c);   /* called once, when the socket is closed */
    void (*on_written)(struct client *c); /* called when all output is written to the socket */
    /* Called before the reply of r, so far in r->own, goes to the output of c, and only if r->has_jobs. */
    void (*on_placed)(struct client *c, const struct req *r);
};

void client_init(struct event_base *base, const struct client_hooks *hooks);
/* Takes over an accepted, non-blocking socket. A client with TLS first does its handshake. If there are too many
 * clients, or protected mode refuses the address, it sends an error and closes the socket. */
void client_accept(int fd, enum socket_kind kind);
/* Takes over one end of a pair of sockets, for a client at the address `peer` that is connected to the address `own`.
 * NULL: there are too many clients. */
struct client *client_accept_for(int fd, const char *peer, const char *own);

/* Disconnects the oldest client that has not authenticated or not done its handshake, so that such clients cannot keep
 * out others. False if there is none. */
bool client_make_room(void);

/* Called after a wrong password for the user. The reply is delayed: wrong_passwords.h. */
void client_mute(struct client *c, struct slice user);
/* Closes c at the end of the turn, without writing pending output. reason is logged. */
void client_kill(struct client *c, const char *reason);
/* Accepts no more commands from c, and closes it when every reply is written. */
void client_close_after_replies(struct client *c);
/* Sends bytes outside of requests and replies (MONITOR, push messages). */
void client_push(struct client *c, const void *bytes, size_t len);
/* True if work w may add to the reply that it makes for c. Otherwise w waits until c has received the
 * output, or has disconnected. */
bool client_takes_more(struct client *c, struct long_work *w);
/* True if there is no client to reply to. */
static inline bool client_has_gone(const struct client *c) {
    return c == NULL || c->state == CLIENT_DEAD;
}
/* Like client_push(), for a message that other clients get, too. */
void client_push_shared(struct client *c, struct message *m);
/* Bytes of output that are not written yet. */
static inline size_t client_unwritten(const struct client *c) {
    return c->ahead.len + buf_len(&c->out);
}
/* Puts c into the list of clients to write to, or to close, at the end of the turn. */
void client_touch(struct client *c);
/* Replies to r now, and lets r go on without a client: its reply is complete, but its task has not ended.
 * The caller calls req_end() later. */
void client_detach(struct req *r);
/* CLIENT PAUSE: until then (clock_mono()) no command runs; with writes_only no command that changes data,
 * which the hook on_command checks. */
void client_pause_until(int64_t mono_us, bool writes_only);
/* True during CLIENT PAUSE, of all commands or of writes. */
bool clients_are_paused(void);
/* The hook on_command has refused requests for a while: offers them again. */
void clients_offer_again(void);

struct client *client_by_id(uint64_t id);
/* All clients of the state, in the order in which they reached it. */
struct list *client_list(enum client_state state);
size_t client_count(void);
const char *client_ident(const struct client *c); /* for log lines; static buffer */

/* Offers held commands again, and parses more input, for clients whose requests have ended or that have
 * input left. Called before the batches are sent. This, clients_flush() and clients_reap() stop when their
 * share of the turn is over, and continue in the next turn. */
void clients_resume(void);
/* True if work is left: the next turn must not wait for events. */
bool clients_pending(void);
/* End of turn: write replies, close clients that are marked, free dead ones. */
void clients_flush(void);
void clients_reap(void);
/* Checks idle timeouts, and output limits by time. Called about ten times a second. */
void clients_cron(void);
void client_shutdown(void);

#endif
