#ifndef BENCH_CONN_H
#define BENCH_CONN_H

#include "common.h"
#include "tls.h"
#include "wire.h"

enum role { ROLE_PRODUCER, ROLE_CONSUMER, ROLE_IDLE };

/* An add without a reply. */
struct txn {
    uint64_t seq;
    int64_t since;
};

/* A delivered job that is not acknowledged. Its token for the ack lies in the connection's tokens. */
struct held {
    uint32_t producer;
    uint32_t token_len;
    uint64_t seq;
    bool ours; /* sent by this run */
};

/* A connection in its role. A lost connection stays as an object with fd -1 until it is connected again. Its commands
 * without replies are given up. */
struct conn {
    int fd;
    SSL *tls; /* NULL without --tls */
    enum role role;
    int index;        /* its number among its role */
    bool stalled;     /* got an error: does nothing until the next tick */
    bool hungry;      /* a producer in the line of those that may not send yet */
    bool wants_write; /* epoll watches for writability */
    struct wire in;
    struct wire out;
    struct wire setup;
    int setup_replies;
    int setup_due;     /* replies to setup that have not come */
    bool setup_failed; /* a set-up command had an error: all of them are sent again at the next tick */

    /* producers */
    struct txn *txns; /* a ring of options.pipeline */
    int64_t txn_head;
    int64_t txn_count;
    uint64_t next_seq;

    /* consumers and idle waiters */
    int *queues; /* numbers of the queues it gets from */
    int queue_count;
    struct wire get;
    int get_replies;
    int get_due;
    int64_t get_since;
    int ack_due;
    int64_t ack_since;
    int64_t ack_confirmed; /* jobs the replies to the present ack confirmed so far */
    bool ack_failed;
    struct held *held; /* room for options.count */
    int held_count;
    char *tokens; /* options.count times conns_token_size() bytes */
};

/* Makes the connection, non-blocking, and registers it with epoll; false with
 * errno when that fails. The setup commands are queued for sending. */
bool conn_open(struct conn *c) MUST_CHECK;
void conn_close(struct conn *c);
/* Queues the setup commands, once more if need be. */
void conn_setup(struct conn *c);

/* Reads available bytes. 1: bytes came. 0: no bytes now. -1: the connection is lost, with errno, or 0 at the end of
 * file. */
int conn_read(struct conn *c) MUST_CHECK;
/* True if bytes may be available that no event of epoll announces. */
bool conn_has_more(const struct conn *c);
/* Sends as much of c->out as the socket takes; false when it is lost. */
bool conn_flush(struct conn *c) MUST_CHECK;

/* The bytes of token number i. */
char *conn_token(const struct conn *c, int i);
/* Longest token that fits. */
size_t conn_token_size(void);

/* Creates all connections of the run, unconnected: idle waiters, consumers,
 * producers, in that order. Returns their number. */
int conns_create(struct conn **all);
/* The name of queue number i. The idle waiters' queues follow the ordinary ones. */
const char *queue_name(int i);

/* The epoll descriptor all connections are registered with. */
int conns_epoll(void);

#endif
