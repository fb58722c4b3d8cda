#ifndef OUTPUT_H
#define OUTPUT_H

#include <stddef.h>
#include <sys/types.h>
#include "base/buf.h"
#include "base/list.h"

/*
 * The output of a client, in pieces: its own bytes, and messages that it shares with other clients. A client
 * builds its replies in an ordinary buffer. A shared message closes that buffer, which becomes a piece before
 * the message.
 */

/* Bytes that are sent to several clients: one copy, freed with its last user. */
struct message {
    size_t users;
    size_t len;
    char bytes[];
};

struct output {
    struct list pieces; /* oldest first */
    size_t len;         /* bytes that are not written yet */
    size_t own;         /* memory of the client's own pieces */
    size_t shared;      /* bytes of shared messages */
};

/* A copy with one user: the caller. */
struct message *message_new(struct slice bytes);
void message_release(struct message *m);

void output_init(struct output *o);
/* Appends a piece: all bytes of tail, which is empty then; or m. */
void output_take(struct output *o, struct buf *tail);
void output_share(struct output *o, struct message *m);
/* Sends about `most` bytes of the first pieces. Returns as send(2) does. */
ssize_t output_send(const struct output *o, int fd, size_t most);
/* Copies the first pieces, at most room bytes. Returns the number of bytes. After more was appended, it copies the same
 * bytes, and perhaps more. */
size_t output_copy(const struct output *o, char *to, size_t room);
/* Removes bytes that were written. They must be in the buffer. */
void output_consume(struct output *o, size_t bytes);
void output_free(struct output *o);

#endif
