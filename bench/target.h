#ifndef BENCH_TARGET_H
#define BENCH_TARGET_H

#include "common.h"
#include "wire.h"

struct conn;

enum add_reply { ADD_OK, ADD_FAILED, ADD_NOT_A_REPLY };

/* A kind of server. make_*() run once per connection or queue, and their bytes are only copied later. format_ack() and
 * read_*() run per command. The loop passes complete replies, one at a time, in the order of the commands. Every
 * read_*() may rely on that and on reply_length(). */
struct target {
    const char *name;
    int port;
    bool one_queue_get;     /* a get names exactly one queue */
    bool releases_on_close; /* jobs a connection held return when it closes, or is made again */
    int64_t default_lease;  /* seconds until redelivery without --retry; 0: never */

    /* Commands that a new connection sends first; returns the number of replies. */
    int (*make_setup)(const struct conn *c, struct wire *out);
    /* The bytes before and after a body that make it a job of the queue. */
    void (*make_add)(const char *queue, struct wire *before, struct wire *after);
    /* A blocking get for c->queues. Returns the number of replies. */
    int (*make_get)(const struct conn *c, struct wire *out);
    /* Acknowledges all c->held; returns the number of replies. */
    int (*format_ack)(const struct conn *c, struct wire *out);

    size_t (*reply_length)(struct wire *in);
    bool (*is_error)(const char *reply);
    enum add_reply (*read_add)(const char *reply);
    /* Calls worker_delivered() for each job. */
    void (*read_get)(struct conn *c, const char *reply);
    /* Jobs this reply confirms as removed. c->ack_due counts this reply still. */
    int64_t (*read_ack)(const struct conn *c, const char *reply);
};

extern const struct target target_disque;
extern const struct target target_redis_list;
extern const struct target target_redis_stream;
extern const struct target target_beanstalkd;

#endif
