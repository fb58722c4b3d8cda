#ifndef MULTI_H
#define MULTI_H

#include <stdbool.h>
#include <stddef.h>
#include "net/client.h"
#include "net/request.h"

/* The commands that a client has sent since MULTI. */
struct multi {
    struct req **reqs; /* queued commands, not run yet */
    size_t count;
    size_t cap;
    size_t bytes;
    bool spoiled; /* a command was refused, so EXEC fails */
    bool
        needs_counters; /* a queued command needs the counters of queues, or their scan positions: CMD_UNCOUNTED */
};

void multi_begin(struct client *c);
/* Queues the command of r if c is in a transaction, and replies QUEUED or an error. The caller then ends r. False
 * if c is in no transaction, or if the command is MULTI, EXEC, DISCARD, QUIT or RESET. The caller then runs the
 * command now. */
bool multi_takes(struct client *c, struct req *r);
/* Call when a command of c was refused: EXEC then fails. */
void multi_spoil(struct client *c);
/* Discards the queued commands of c, if there are any. */
void multi_discard(struct client *c);
/* The number of commands that c has queued, or -1 if it is not in a transaction. */
int multi_queued(const struct client *c);

#endif
