#ifndef OUTPUT_H
#define OUTPUT_H

#include <stddef.h>
#include <sys/uio.h>
#include "base/buf.h"
#include "base/list.h"

/*
 * What a client is still to be sent, in pieces: bytes of its own, and messages that it shares with others. A client
 * builds its replies in an ordinary buffer; a shared message closes that buffer, which becomes a piece before it.
 */

/* Bytes that several clients are sent: one copy, freed with its last user. */
struct message {
    size_t users;
    size_t len;
    char bytes[];
};

struct output {
    struct list pieces; /* oldest first */
    size_t len;         /* bytes not yet written, */
    size_t own;         /* memory of pieces that are the client's own, */
    size_t shared;      /* and bytes of shared messages */
};

/* A copy with one user, the caller. */
struct message *message_new(struct slice bytes);
void message_release(struct message *m);

void output_init(struct output *o);
/* Appends a piece: all of tail, which is empty then; or m. */
void output_take(struct output *o, struct buf *tail);
void output_share(struct output *o, struct message *m);
/* The first pieces, at most count, and no more than about so many bytes. */
int output_vector(const struct output *o, struct iovec *v, int count, size_t most);
/* So many bytes of the pieces were written, no more than there are. */
void output_consume(struct output *o, size_t bytes);
void output_free(struct output *o);

#endif
