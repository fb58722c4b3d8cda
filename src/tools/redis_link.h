#ifndef REDIS_LINK_H
#define REDIS_LINK_H

#include <hiredis/hiredis.h>
#include "base/util.h"

/*
 * Connections to a Redis, or to a pgdisque, for subcommands that wait for their answers. The
 * server itself never uses them.
 */
struct redis_address {
    char *host, *user, *password; /* user and password: NULL without */
    int port, db;
};

/* redis://[user][:password@]host[:port][/db], or host[:port]. False with a sentence in err. */
bool redis_address_parse(const char *text, int default_port, struct redis_address *out, char *err,
                         size_t size) MUST_CHECK;
void redis_address_free(struct redis_address *a);

/* Connected, authenticated, in its database. NULL with a sentence in err. */
redisContext *redis_link_open(const struct redis_address *a, char *err, size_t size) MUST_CHECK;

/*
 * A pipeline: commands are put in, then their replies are taken in the same order. The first
 * thing that goes wrong, an error reply included, stays in err.
 */
struct redis_pipe {
    redisContext *c;
    char err[400]; /* "": all is well */
};

/* Something went wrong; only the first counts. */
void redis_pipe_fail(struct redis_pipe *p, const char *what);
/* Words as in redisAppendCommand(); and as slices. */
void redis_pipe_put(struct redis_pipe *p, const char *fmt, ...);
void redis_pipe_put_slices(struct redis_pipe *p, const struct slice *words, size_t count);
/* The reply to that command, of a shape that redis_reply.h describes. NULL, with a sentence in err: the connection
 * is gone, or the reply is an error or of another shape. The caller frees it. */
redisReply *redis_pipe_take(struct redis_pipe *p, const char *command, const char *shape) MUST_CHECK;
/* The same, but an error is a reply as any other. */
redisReply *redis_pipe_take_or_error(struct redis_pipe *p, const char *command, const char *shape) MUST_CHECK;
/* An integer from 0 on, the size of something; -1 with a sentence in err. */
int64_t redis_pipe_take_size(struct redis_pipe *p, const char *command) MUST_CHECK;
/* Takes so many without looking at what they say, but for errors. */
void redis_pipe_skip(struct redis_pipe *p, size_t count);

#endif
