#ifndef MULTI_H
#define MULTI_H

#include <stdbool.h>
#include <stddef.h>
#include "net/client.h"
#include "net/req.h"

/* What a client has sent since MULTI. */
struct multi {
    struct req **reqs; /* with their commands; nobody has run them */
    size_t count;
    size_t cap;
    size_t bytes;
    bool spoiled; /* a command was refused: EXEC will be, too */
};

void multi_begin(struct client *c);
/* Keeps r's command and replies so, when c is in a transaction and it is no command that ends one; or replies
 * why not. False: it is to be run now. */
bool multi_takes(struct client *c, struct req *r);
/* A command of c was refused. */
void multi_spoil(struct client *c);
/* Forgets what c has queued, if it has. */
void multi_discard(struct client *c);
void multi_free(struct multi *m);
/* How many commands c has queued; -1: it said no MULTI. */
int multi_queued(const struct client *c);

#endif
