#ifndef REDIS_LINK_H
#define REDIS_LINK_H

#include <hiredis/hiredis.h>
#include "base/buf.h"
#include "base/tls.h"
#include "base/util.h"

/*
 * Blocking connections to a Redis or a pgdisque, for subcommands. The server itself never uses them.
 */
struct redis_address {
    char *host, *user, *password; /* user and password may be NULL */
    char *path;                   /* of a unix socket, and host names it in messages; NULL: TCP */
    int port, db;
    bool tls;
};

/* [redis://|rediss://][[user:]password@]host[:port][/db]; rediss means TLS. Or unix://[[user:]password@]/path, or
 * /path. False with a sentence in err; call redis_address_free() then, too. */
bool redis_address_parse(const char *text, int default_port, struct redis_address *out, char *err,
                         size_t size) MUST_CHECK;
void redis_address_free(struct redis_address *a);

/* How to use TLS; texts may be NULL. */
struct redis_tls {
    char *ca_file, *ca_dir; /* the authorities of servers; both NULL: those of the system */
    char *cert, *key;       /* the certificate of the client */
    bool insecure;          /* take any certificate */
};

/*
 * A connection with a pipeline: the caller puts commands, then takes their replies in the same order. err keeps the
 * first error; an error reply is an error, too.
 */
struct redis_pipe {
    redisContext *c; /* NULL: not connected */
    struct tls *tls; /* NULL: no TLS */
    struct buf out;  /* commands that are not written yet, with TLS */
    char err[400];   /* "": no error */
};

/* Connects, authenticates and selects the database. False with a sentence in err. */
bool redis_pipe_open(struct redis_pipe *p, const struct redis_address *a, const struct redis_tls *how,
                     char *err, size_t size) MUST_CHECK;
/* Begins TLS on the connection p->c to the host. False with a sentence in p->err. */
bool redis_pipe_begin_tls(struct redis_pipe *p, const char *host, const struct redis_tls *how) MUST_CHECK;
void redis_pipe_close(struct redis_pipe *p);
/* Writes all commands that are put. */
void redis_pipe_flush(struct redis_pipe *p);

/* Sets err unless it is set already. */
void redis_pipe_fail(struct redis_pipe *p, const char *what);
/* Append a command: with a format as in redisAppendCommand(), or its words as slices. */
void redis_pipe_put(struct redis_pipe *p, const char *fmt, ...);
void redis_pipe_put_slices(struct redis_pipe *p, const struct slice *words, size_t count);
/* Takes the next reply. command names it in error texts; shape is described in redis_reply.h. NULL with a sentence in
 * err: the connection was lost, or the reply is an error or has another shape. The caller frees the reply. */
redisReply *redis_pipe_take(struct redis_pipe *p, const char *command, const char *shape) MUST_CHECK;
/* Like redis_pipe_take(), but returns an error reply, too. */
redisReply *redis_pipe_take_or_error(struct redis_pipe *p, const char *command, const char *shape) MUST_CHECK;
/* Takes a reply that is an integer of 0 or more; -1 with a sentence in err. */
int64_t redis_pipe_take_size(struct redis_pipe *p, const char *command) MUST_CHECK;
/* Takes count replies of any shape and frees them. Error replies set err. */
void redis_pipe_skip(struct redis_pipe *p, size_t count);

/*
 * Use in a loop that waits by poll(2). After redis_pipe_unblock() no function waits, and the caller takes replies by
 * redis_pipe_next() only.
 */
void redis_pipe_unblock(struct redis_pipe *p);
/* The events of poll(2) for which the connection waits. */
short redis_pipe_events(const struct redis_pipe *p);
/* Writes and reads as much as is possible now. False after a loss, with a sentence in err. */
bool redis_pipe_step(struct redis_pipe *p) MUST_CHECK;
/* The next reply that has arrived, of any shape. NULL: none, or err has a sentence. The caller frees it. */
redisReply *redis_pipe_next(struct redis_pipe *p);

#endif
