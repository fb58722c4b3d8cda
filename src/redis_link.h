/* layer 1 */
#ifndef REDIS_LINK_H
#define REDIS_LINK_H

#include <hiredis/hiredis.h>
#include "util.h"

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

/* Words as in redisAppendCommand(); and as slices. */
void redis_pipe_put(struct redis_pipe *p, const char *fmt, ...);
void redis_pipe_put_slices(struct redis_pipe *p, const struct slice *words, size_t count);
/* NULL when the connection is gone. The caller frees it. */
redisReply *redis_pipe_take(struct redis_pipe *p);
/* Takes so many without looking at what they say, but for errors. */
void redis_pipe_skip(struct redis_pipe *p, size_t count);
/* What stands behind a name in an array of names and values; NULL: it is not there. */
const redisReply *redis_field(const redisReply *names_and_values, const char *name);

#endif
